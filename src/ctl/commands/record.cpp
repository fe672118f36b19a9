// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/commands/commands.h"

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
#include "base/text/json_access.h"
#include "ctl/commands/child_command.h"
#include "ctl/commands/command_records.h"
#include "ctl/input/report_text.h"
#include "ctl/live/open_session.h"
#include "ctl/live/recorder.h"
#include "ctl/live/session_counts.h"
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

// Processes that the daemon could not follow so far. Nothing if it does not answer.
std::optional<uint64_t> ask_follow_lost(const std::string& socket) {
  auto client = RpcClient::connect(socket);
  if (!client) return std::nullopt;
  auto status = client->call("status");
  if (!status) return std::nullopt;
  return number_at(member(*status, "filter"), "follow_lost");
}

// Reads the stream into the recorder until the recording ends.
class Recording {
 public:
  // `own`: null: not asked for.
  Recording(Recorder& recorder, SessionCounts& counts, CommandRecords* own, StreamLoop& loop)
      : recorder_(recorder), counts_(counts), own_(own), loop_(loop) {}

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
                        counts_.take(packet);
                        if (own_ != nullptr) own_->take(packet);
                        return recorder_.take(packet);
                      },
                      .after_packets = [] { return Result<Next>(Next::go_on); }});
  }

 private:
  Recorder& recorder_;
  SessionCounts& counts_;
  CommandRecords* own_;
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
      seconds, printable(completeness_text(manifest.complete(), manifest.incomplete_because)));
}

// The whole recording, from the subscription to the finished directory.
class RecordRun {
 public:
  RecordRun(const RecordCommand& command, const Options& options)
      : command_(command), options_(options), path_(command.directory) {}

  Result<int> run();

 private:
  Result<> prepare();
  Result<> record();
  Result<End> read_stream();
  Result<> finish(const Result<End>& end);
  [[nodiscard]] std::string reason() const;
  [[nodiscard]] bool has_no_own(const EventAccount& total) const;
  int end_of_command();

  const RecordCommand& command_;
  const Options& options_;
  std::filesystem::path path_;
  std::optional<ChildCommand> child_;
  std::optional<StopSignals> signals_;
  std::optional<LiveSource> source_;
  std::optional<Recorder> recorder_;
  std::optional<SessionCounts> counts_;
  std::optional<CommandRecords> own_;  // of the command, if those of all tasks are recorded
  uint64_t follow_lost_ = 0;           // before
  bool asked_to_end_ = false;          // SIGTERM was sent to the command during the recording
};

// The child process is created first: it must not inherit threads and blocked signals.
Result<> RecordRun::prepare() {
  if (auto free = TraceWriter::check_free(path_); !free) return free;
  if (!command_.command.empty()) {
    auto child = ChildCommand::prepare(command_.command);
    if (!child) return propagate(child);
    child_.emplace(std::move(*child));
  }
  auto signals = StopSignals::catch_signals();
  if (!signals) return propagate(signals);
  signals_.emplace(std::move(*signals));
  auto client = RpcClient::connect(options_.socket);
  if (!client) return propagate(client);
  follow_lost_ = ask_follow_lost(options_.socket).value_or(0);
  SelectionArgs selection = command_.selection;
  SessionArgs session = command_.session;
  selection.events = session_events(selection, session);
  if (child_) session.follow.push_back(static_cast<uint32_t>(child_->pid()));
  if (auto resolved = resolve_pids(options_.socket, selection, session); !resolved) return resolved;
  if (child_ && session.all) {
    own_.emplace(session.follow.back());
    session.follow.pop_back();
  }
  auto source = open_session(std::move(*client), selection, session);
  if (!source) return propagate(source);
  source_.emplace(std::move(*source));
  counts_.emplace(source_->schema());
  if (auto questions = RpcClient::connect(options_.socket))
    print_hints(*questions, source_->info().session);
  auto recorder = Recorder::create(path_, *source_);
  if (!recorder) return propagate(recorder);
  recorder_.emplace(std::move(*recorder));
  return {};
}

Result<End> RecordRun::read_stream() {
  auto packets = ReadAhead::start(*source_);
  if (!packets) return propagate(packets);
  StreamLoop loop(**packets, child_ ? -1 : signals_->fd(), -1);
  Recording recording(*recorder_, *counts_, own_ ? &*own_ : nullptr, loop);
  if (child_) recording.end_with(*child_, signals_->fd());
  auto end = recording.run(StreamLoop::duration_of(command_.duration_s));
  asked_to_end_ = recording.asked_to_end();
  return end;
}

Result<> RecordRun::record() {
  if (child_)
    if (auto started = child_->go(); !started) {
      child_.reset();
      return started;
    }
  return finish(read_stream());
}

// The recorded events are kept, whatever ended the recording.
Result<> RecordRun::finish(const Result<End>& end) {
  const auto ended = end ? StreamLoop::verdict_of(*end, counts_->end_reason())
                         : Result<>(std::unexpected(end.error()));
  if (!ended)
    recorder_->add_problem(ended.error().message);
  else if (!counts_->total())
    recorder_->add_problem("ktraced did not report which hits the kernel missed");
  recorder_->set_missed(counts_->missed());
  if (counts_->total()) recorder_->set_filtered(counts_->counts(&HitAccount::filtered));
  const uint64_t follow_lost = ask_follow_lost(options_.socket).value_or(follow_lost_);
  if (follow_lost > follow_lost_)
    recorder_->add_problem(
        fmt::format("{} processes could not be followed", follow_lost - follow_lost_));
  auto manifest = recorder_->finish(reason(), ask_daemon(options_.socket));
  if (!manifest)
    return fail(manifest.error().code, "{}; what has been recorded is in {}",
                end ? manifest.error().message : end.error().message,
                recorder_->leave_unfinished().string());
  for (const std::string& problem : recorder_->missing_names())
    print_stderr("ktracectl: {}: {}\n", path_.string(), problem);
  print_summary(path_, *manifest, recorder_->bytes(), options_.json);
  if (child_ && has_no_own(manifest->total()))
    print_stderr(
        "ktracectl: {}: no event of {} was recorded; select events that it causes by --event, and "
        "see those that are recorded in 'ktracectl session show recorder'\n",
        path_.string(), printable(command_.command.front()));
  return ended;
}

// A session without --all has only records about the command and its descendants.
bool RecordRun::has_no_own(const EventAccount& total) const {
  return total.lost == 0 && (own_ ? !own_->any() : total.records == 0);
}

std::string RecordRun::reason() const {
  if (!command_.reason.empty() || command_.command.empty()) return command_.reason;
  return fmt::format("{}", fmt::join(command_.command, " "));
}

// The command may run a little longer than the recording. If it ignores SIGTERM, the recording does
// not wait for it.
int RecordRun::end_of_command() {
  std::array<pollfd, 2> fds{{{child_->fd(), POLLIN, 0}, {signals_->fd(), POLLIN, 0}}};
  while (::poll(fds.data(), fds.size(), -1) < 0 && errno == EINTR) {
  }
  if (fds[0].revents != 0) return child_->wait();
  if (!asked_to_end_) child_->terminate();
  const std::chrono::milliseconds timeout = asked_to_end_ ? std::chrono::seconds(0) : kGracePeriod;
  const bool ended = ::poll(fds.data(), 1, static_cast<int>(timeout.count())) > 0;
  return ended ? child_->wait() : 128 + SIGTERM;
}

Result<int> RecordRun::run() {
  if (auto prepared = prepare(); !prepared) return propagate(prepared);
  auto recorded = record();
  const int code = child_ ? end_of_command() : 0;
  if (!recorded) return propagate(recorded);
  return code;
}

}  // namespace

Result<int> run_record(const RecordCommand& command, const Options& options) {
  return RecordRun(command, options).run();
}

}  // namespace ktraced
