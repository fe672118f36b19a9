// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/top/top.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "base/text/json_access.h"
#include "ctl/input/report_text.h"
#include "ctl/live/open_session.h"
#include "ctl/rates/activity_feed.h"
#include "ctl/rates/daemon_feed.h"
#include "ctl/terminal/output.h"
#include "ctl/terminal/stop_signals.h"
#include "ctl/terminal/table.h"
#include "ctl/terminal/terminal.h"
#include "ctl/top/curses_screen.h"
#include "ctl/top/layout.h"

namespace ktraced {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr double kShortest = 0.1, kDefault = 1, kLongest = 1e6;  // seconds
constexpr size_t kRecent = 60;                                   // frames whose rates are kept

// Everything that the loop needs from outside.
struct TopInputs {
  StopSignals& signals;
  CursesScreen* screen;  // null: frames go to standard output
  Fd notified;           // eventfd of the calls in the background
  std::unique_ptr<DaemonFeed> daemon;
};

class Top {
 public:
  Top(const TopCommand& command, const Options& options, TopInputs inputs, double interval_s)
      : command_(command),
        options_(options),
        in_(std::move(inputs)),
        activity_(options.socket, command, in_.notified.get()) {
    state_.view = command.view;
    frame_.interval_s = interval_s;
    activity_.show(state_.view);
  }
  Result<> run();

 private:
  enum Waited { kStop, kNotified, kActivity, kSignals, kKeys, kOutput, kWaited };
  using Fds = std::array<pollfd, kWaited>;

  Result<Fds> wait();
  Result<> handle(const Fds& ready);
  Result<> on_notified();
  Result<> on_reading(Reading reading);
  void on_keys(const pollfd& ready);
  void apply(const TopKey& key);
  void begin_snapshot();
  void on_snapshot(const Result<json>& answer);
  bool count_activity();
  Result<> show_frame();
  void arrange();
  void draw();
  [[nodiscard]] TopTable& table(TopView view) { return tables_[static_cast<size_t>(view)]; }
  [[nodiscard]] Clock::duration interval() const {
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(frame_.interval_s));
  }

  const TopCommand& command_;
  const Options& options_;
  TopInputs in_;
  ActivityFeed activity_;
  TopState state_;
  TopFrame frame_;
  std::array<TopTable, TopState::kViews> tables_;  // of each view, in no order
  std::optional<Reading> last_;
  Clock::time_point next_tick_ = Clock::now();
  uint64_t frames_ = 0;
  bool done_ = false;
};

Result<> Top::run() {
  draw();
  while (!done_) {
    if (Clock::now() >= next_tick_) {
      next_tick_ = Clock::now() + interval();
      in_.daemon->ask();
    }
    auto ready = wait();
    if (!ready) return propagate(ready);
    if (auto handled = handle(*ready); !handled) return handled;
  }
  return {};
}

Result<Top::Fds> Top::wait() {
  const bool screen = in_.screen != nullptr;
  Fds fds{};
  fds[kStop] = {.fd = in_.signals.fd(), .events = POLLIN, .revents = 0};
  fds[kNotified] = {.fd = in_.notified.get(), .events = POLLIN, .revents = 0};
  fds[kActivity] = {.fd = activity_.fd(), .events = POLLIN, .revents = 0};
  fds[kSignals] = {.fd = screen ? in_.screen->signal_fd() : -1, .events = POLLIN, .revents = 0};
  fds[kKeys] = {.fd = screen ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0};
  fds[kOutput] = {.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_tick_ - Clock::now());
  const auto timeout = static_cast<int>(std::clamp<int64_t>(left.count(), 0, 3600'000));
  if (::poll(fds.data(), fds.size(), timeout) < 0) {
    if (errno != EINTR) return fail(ExitCode::os, "cannot wait: {}", errno_text(errno));
    for (pollfd& fd : fds) fd.revents = 0;
  }
  return fds;
}

Result<> Top::handle(const Fds& ready) {
  if (ready[kStop].revents != 0 || (ready[kOutput].revents & (POLLERR | POLLHUP)) != 0) {
    done_ = true;
    return {};
  }
  if (ready[kActivity].revents != 0) activity_.read();
  if (ready[kSignals].revents != 0) {
    in_.screen->on_signals();
    draw();
  }
  if (ready[kKeys].revents != 0) on_keys(ready[kKeys]);
  if (ready[kNotified].revents != 0) return on_notified();
  return {};
}

Result<> Top::on_notified() {
  eventfd_t count = 0;
  ::eventfd_read(in_.notified.get(), &count);
  activity_.show(state_.view);
  if (const auto answer = in_.daemon->snapshot()) on_snapshot(*answer);
  auto reading = in_.daemon->reading();
  if (!reading) return propagate(reading);
  if (*reading) return on_reading(std::move(**reading));
  return {};
}

// False if there are no rates yet for the view that is shown.
bool Top::count_activity() {
  if (!ActivityFeed::needs_session(state_.view)) return true;
  auto counted = activity_.take(frame_.interval_s / 2);
  if (!counted) return false;
  table(state_.view) = std::move(*counted);
  return true;
}

Result<> Top::on_reading(Reading reading) {
  const std::optional<Reading> before = std::exchange(last_, std::move(reading));
  const std::string& overhead = in_.daemon->overhead();
  if (!before || state_.paused) return {};
  frame_.header = header_of(*before, *last_, overhead);
  if (frame_.recent.size() >= kRecent) frame_.recent.erase(frame_.recent.begin());
  frame_.recent.push_back(frame_.header.rates.recorded);
  table(TopView::events) = events_table(*before, *last_);
  table(TopView::sessions) = sessions_table(*before, *last_);
  const bool counted = count_activity();
  if (in_.screen != nullptr || counted) return show_frame();
  if (activity_.error()) return std::unexpected(*activity_.error());
  return {};
}

// Sorts and filters the table of the view, and sorts the one beside it.
void Top::arrange() {
  frame_.table = arranged(table(state_.view), state_.sorting(), state_.filter);
  const TopView beside = view_beside(state_.view);
  frame_.beside = arranged(table(beside), state_.sorting(beside), "");
  frame_.note.clear();
  if (ActivityFeed::needs_session(state_.view)) frame_.note = activity_.note();
  if (frame_.note.empty() && frame_.table.columns.empty()) frame_.note = "counting ...";
}

void Top::draw() {
  arrange();
  if (in_.screen != nullptr) in_.screen->draw(layout(frame_, state_, in_.screen->size()));
}

Result<> Top::show_frame() {
  draw();
  done_ = done_ || (command_.count && ++frames_ >= *command_.count);
  if (in_.screen != nullptr) return {};
  auto written = write_all(
      STDOUT_FILENO, options_.json ? frame_json(frame_, state_.view) : plain_frame(frame_, state_));
  if (!written) return propagate(written);
  done_ = done_ || !*written;
  return {};
}

void Top::on_keys(const pollfd& ready) {
  while (const auto key = in_.screen->read_key()) apply(*key);
  if ((ready.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) done_ = true;
  draw();
}

void Top::apply(const TopKey& key) {
  const TopView before = state_.view;
  const bool was_paused = state_.paused;
  const TopPage page = page_of(frame_, in_.screen->size());
  const TopAction action = apply_key(state_, key, page, frame_.table.columns.size());
  if (action == TopAction::quit) done_ = true;
  if (action == TopAction::take_snapshot) begin_snapshot();
  if (was_paused && !state_.paused) frame_.recent.clear();  // the bars have no gaps
  if (state_.view != before) {
    table(state_.view) = ActivityFeed::needs_session(state_.view) ? TopTable() : table(state_.view);
    activity_.show(state_.view);
  }
  arrange();
}

void Top::begin_snapshot() {
  const bool begun = in_.daemon->take_snapshot();
  state_.message = begun ? "taking a snapshot ..." : "the last snapshot is still being taken";
  state_.message_is_error = !begun;
}

void Top::on_snapshot(const Result<json>& answer) {
  state_.message_is_error = !answer;
  if (!answer)
    state_.message = "no snapshot: " + answer.error().message;
  else
    state_.message = fmt::format(
        "snapshot {}: {} records, {}", text_at(*answer, "name"),
        grouped(number_at(*answer, "records")),
        completeness_text(flag_at(*answer, "complete"), texts_at(*answer, "incomplete_because")));
  draw();
}

}  // namespace

Result<> run_top(const TopCommand& typed, const Options& options) {
  TopCommand command = typed;
  if (auto resolved = resolve_pids(options.socket, command.selection, command.session); !resolved)
    return resolved;
  const double seconds = std::clamp(command.interval_s.value_or(kDefault), kShortest, kLongest);
  Fd notified(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!notified) return fail(ExitCode::os, "cannot wait for answers: {}", errno_text(errno));
  const bool on_screen = !options.json && CursesScreen::is_possible();
  std::optional<ScreenSignals> screen_signals;
  if (on_screen) {
    auto caught = ScreenSignals::catch_signals();
    if (!caught) return propagate(caught);
    screen_signals.emplace(std::move(*caught));
  }
  auto signals = StopSignals::catch_signals();
  if (!signals) return propagate(signals);
  auto daemon = DaemonFeed::connect(options.socket, seconds, notified.get());
  if (!daemon) return propagate(daemon);
  std::unique_ptr<CursesScreen> screen;
  if (on_screen) {
    auto opened = CursesScreen::open(std::move(*screen_signals), Colours::of(STDOUT_FILENO).on());
    if (!opened) return propagate(opened);
    screen = std::move(*opened);
  }
  Top top(command, options,
          {.signals = *signals,
           .screen = screen.get(),
           .notified = std::move(notified),
           .daemon = std::move(*daemon)},
          seconds);
  return top.run();
}

}  // namespace ktraced
