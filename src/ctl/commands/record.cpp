// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/commands/record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/print_stderr.h"
#include "ctl/commands/child_command.h"
#include "ctl/commands/temporary_filter.h"
#include "ctl/input/json_access.h"
#include "ctl/live/recorder.h"
#include "ctl/live/stream_loop.h"
#include "ctl/terminal/json_text.h"
#include "ctl/terminal/output.h"
#include "ctl/terminal/progress.h"
#include "ctl/terminal/stop_signals.h"
#include "ctl/views/hints.h"
#include "decoders/text/safe_text.h"

namespace ktraced {

namespace {

using nlohmann::json;
using Clock = StreamLoop::Clock;
using Next = StreamLoop::Next;
using End = StreamLoop::End;

// How long a command is still recorded after SIGTERM was sent to it.
constexpr std::chrono::seconds kGracePeriod{2};

// The daemon's counters beside the stream, at one time.
struct Counts {
  std::map<std::string, uint64_t> missed;
  uint64_t follow_lost = 0;      // processes that could not be followed
  json config = json::object();  // the enabled events and the filter
};

// If the request fails, the recording lacks these numbers. The stream shows whether the daemon
// still runs.
Counts ask_status(const std::string& socket) {
  Counts counts;
  auto client = RpcClient::connect(socket);
  if (!client) return counts;
  auto status = client->call("status");
  if (!status) return counts;
  const json& events = member(*status, "events");
  if (!events.is_object()) return counts;
  for (const auto& [name, event] : events.items()) {
    counts.missed[name] = number_at(event, "missed");
    if (flag_at(event, "enabled")) counts.config["events"].push_back(name);
  }
  counts.config["filter"] = member(*status, "filter");
  counts.follow_lost = number_at(counts.config["filter"], "follow_lost");
  return counts;
}

// Hits missed since `before`. If the counters have been reset, they start from 0.
std::map<std::string, uint64_t> missed_since(const Counts& before, const Counts& now) {
  std::map<std::string, uint64_t> missed;
  for (const auto& [name, count] : now.missed) {
    auto old = before.missed.find(name);
    const uint64_t base = old != before.missed.end() && old->second <= count ? old->second : 0;
    if (count != base) missed[name] = count - base;
  }
  return missed;
}

// Reads the stream into the recorder until the recording ends.
class Recording {
 public:
  Recording(Recorder& recorder, StreamLoop& loop) : recorder_(recorder), loop_(loop) {}

  // Records until `child` has ended. A signal to this program terminates the child.
  void end_with(const ChildCommand& child, int signal_fd) {
    loop_.watch(child.fd(), [] { return Next::finish; });
    loop_.watch(signal_fd, [this, &child] {
      child.terminate();
      give_up_at_ = Clock::now() + kGracePeriod;
      return Next::go_on;
    });
  }

  [[nodiscard]] bool asked_to_end() const { return give_up_at_ != Clock::time_point::max(); }

  Result<End> run(std::optional<Clock::duration> duration) {
    loop_.every(Progress::kInterval, [this] {
      progress_.update(recorder_.total(), recorder_.bytes());
      return Clock::now() >= give_up_at_ ? Next::finish : Next::go_on;
    });
    return loop_.run(duration,
                     {.on_packet = [this](const PacketView& packet, const auto&) -> Result<> {
                        return recorder_.take(packet);
                      },
                      .after_packets = [] { return Result<Next>(Next::go_on); }});
  }

 private:
  Recorder& recorder_;
  StreamLoop& loop_;
  Progress progress_;
  Clock::time_point give_up_at_ = Clock::time_point::max();
};

void print_summary(const std::filesystem::path& path, const Manifest& manifest, uint64_t bytes,
                   bool as_json) {
  const EventAccount total = manifest.total();
  if (as_json) {
    json result = {{"path", path.string()},
                   {"complete", manifest.complete()},
                   {"records", total.records},
                   {"lost", total.lost},
                   {"begin_ns", manifest.begin_ns},
                   {"end_ns", manifest.end_ns},
                   {"bytes", bytes},
                   {"incomplete_because", manifest.incomplete_because}};
    static_cast<void>(write_all(STDOUT_FILENO, json_text(result)));
    return;
  }
  const double seconds = static_cast<double>(manifest.end_ns - manifest.begin_ns) / 1e9;
  print_stderr(
      "ktracectl: {}: {} in {:.3f} s, {}\n", path.string(),
      Progress::text(total, static_cast<double>(total.records) / std::max(seconds, 1e-3), bytes),
      seconds,
      manifest.complete()
          ? "complete"
          : "incomplete: " +
                printable(fmt::format("{}", fmt::join(manifest.incomplete_because, "; "))));
}

// The whole recording, from the subscription to the finished directory.
class Session {
 public:
  Session(const RecordCommand& command, const Options& options)
      : command_(command), options_(options), path_(command.directory) {}

  Result<int> run();

 private:
  Result<> prepare();
  Result<> record();
  Result<End> read_stream();
  Result<> finish(const Result<End>& end);
  [[nodiscard]] std::string reason() const;
  int end_of_command();

  const RecordCommand& command_;
  const Options& options_;
  std::filesystem::path path_;
  std::optional<ChildCommand> child_;
  std::optional<StopSignals> signals_;
  std::optional<TemporaryFilter> filter_;
  std::optional<LiveSource> source_;
  std::optional<Recorder> recorder_;
  Counts before_;
  bool asked_to_end_ = false;  // SIGTERM was sent to the command during the recording
};

// The child process is created first: it must not inherit threads and blocked signals.
Result<> Session::prepare() {
  if (auto free = TraceWriter::check_free(path_); !free) return free;
  if (!command_.command.empty()) {
    auto child = ChildCommand::prepare(command_.command);
    if (!child) return propagate(child);
    child_.emplace(std::move(*child));
  }
  auto signals = StopSignals::catch_signals();
  if (!signals) return propagate(signals);
  signals_.emplace(std::move(*signals));
  if (child_) {
    auto filter = TemporaryFilter::follow(options_.socket, child_->pid());
    if (!filter) return propagate(filter);
    filter_.emplace(std::move(*filter));
  }
  auto client = RpcClient::connect(options_.socket);
  if (!client) return propagate(client);
  print_hints({}, *client);
  before_ = ask_status(options_.socket);
  auto source = LiveSource::subscribe(std::move(*client));
  if (!source) return propagate(source);
  source_.emplace(std::move(*source));
  source_->wait_until_on();  // the recording must contain the first events of the command
  auto recorder = Recorder::create(path_, *source_);
  if (!recorder) return propagate(recorder);
  recorder_.emplace(std::move(*recorder));
  return {};
}

Result<End> Session::read_stream() {
  auto packets = ReadAhead::start(*source_);
  if (!packets) return propagate(packets);
  StreamLoop loop(**packets, child_ ? -1 : signals_->fd(), -1);
  Recording recording(*recorder_, loop);
  if (child_) recording.end_with(*child_, signals_->fd());
  auto end = recording.run(StreamLoop::duration_of(command_.duration_s));
  asked_to_end_ = recording.asked_to_end();
  return end;
}

Result<> Session::record() {
  if (child_)
    if (auto started = child_->go(); !started) {
      child_.reset();
      return started;
    }
  return finish(read_stream());
}

// The recorded events are kept, whatever ended the recording.
Result<> Session::finish(const Result<End>& end) {
  const Counts now = ask_status(options_.socket);
  filter_.reset();
  const bool hung_up = end && *end == End::hung_up;
  if (!end) recorder_->add_problem(end.error().message);
  if (hung_up) recorder_->add_problem("ktraced ended the stream");
  recorder_->set_missed(missed_since(before_, now));
  if (now.follow_lost > before_.follow_lost)
    recorder_->add_problem(
        fmt::format("{} processes could not be followed", now.follow_lost - before_.follow_lost));
  auto manifest = recorder_->finish({.reason = reason(), .config = before_.config},
                                    ask_daemon(options_.socket));
  if (!manifest)
    return fail(manifest.error().code, "{}; what has been recorded is in {}",
                end ? manifest.error().message : end.error().message,
                recorder_->leave_unfinished().string());
  print_summary(path_, *manifest, recorder_->bytes(), options_.json);
  if (!end) return std::unexpected(end.error());
  return StreamLoop::verdict_of(*end);
}

std::string Session::reason() const {
  if (!command_.reason.empty() || command_.command.empty()) return command_.reason;
  return fmt::format("{}", fmt::join(command_.command, " "));
}

// The command may run a little longer than the recording. If it ignores SIGTERM, the recording does
// not wait for it.
int Session::end_of_command() {
  std::array<pollfd, 2> fds{{{child_->fd(), POLLIN, 0}, {signals_->fd(), POLLIN, 0}}};
  while (::poll(fds.data(), fds.size(), -1) < 0 && errno == EINTR) {
  }
  if (fds[0].revents != 0) return child_->wait();
  if (!asked_to_end_) child_->terminate();
  const std::chrono::milliseconds timeout = asked_to_end_ ? std::chrono::seconds(0) : kGracePeriod;
  const bool ended = ::poll(fds.data(), 1, static_cast<int>(timeout.count())) > 0;
  return ended ? child_->wait() : 128 + SIGTERM;
}

Result<int> Session::run() {
  if (auto prepared = prepare(); !prepared) return propagate(prepared);
  auto recorded = record();
  const int code = child_ ? end_of_command() : 0;
  if (!recorded) return propagate(recorded);
  return code;
}

}  // namespace

Result<int> run_record(const RecordCommand& command, const Options& options) {
  return Session(command, options).run();
}

}  // namespace ktraced
