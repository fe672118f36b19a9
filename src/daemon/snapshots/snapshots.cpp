// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshots/snapshots.h"

#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <time.h>

#include <algorithm>

#include "base/clock.h"
#include "base/text/plain_text.h"
#include "daemon/output/trace_order.h"
#include "daemon/runtime/failure_barrier.h"
#include "trace/packet/word_text.h"

namespace ktraced {
namespace {

// Besides a file for each CPU, a snapshot opens directories: its own two, their parent, the store,
// and those of /proc that it reads names from.
constexpr size_t kDirectories = 8;

Retention limits_of(const FlightConfig& config) {
  return {.max_count = config.max_snapshots, .max_bytes = uint64_t{config.max_total_mb} << 20};
}

Error stopping() { return {ExitCode::unavailable, "no snapshot is taken: the daemon is stopping"}; }

Result<SnapshotSummary> failed(const SnapshotTaken& snapshot, const Error& error) {
  return fail(error.code, "snapshot {} could not be written, its history is lost: {}",
              snapshot.name, error.message);
}

// The snapshot before one, and the command that shows both.
std::string previous_text(const std::optional<SnapshotPair>& both) {
  if (!both) return "";
  return fmt::format("; with {}, which has what came before, {} records, {}: {}",
                     quoted_word(both->previous.filename().string()), both->records,
                     both->incomplete_because.empty() ? "complete" : "incomplete", both->show);
}

void log_written(const SnapshotTaken& snapshot, const std::string& reason,
                 const Result<SnapshotSummary>& written) {
  if (!written) return spdlog::error("{}", written.error().message);
  const bool complete = written->incomplete_because.empty();
  spdlog::log(complete ? spdlog::level::info : spdlog::level::warn,
              "wrote {} ({}): {} records, {}{}{}", snapshot.path.string(), reason, written->records,
              complete ? "complete" : "incomplete: ", fmt::join(written->incomplete_because, "; "),
              previous_text(written->with_previous));
}

void subtract(const LostByCpu& reported, LostByCpu& from) {
  for (const auto& [cpu, events] : reported)
    for (const Lost& event : events)
      for (Lost& lost : from[cpu])
        if (lost.event_id == event.event_id) lost.count -= event.count;
  for (auto& [cpu, events] : from)
    std::erase_if(events, [](const Lost& lost) { return lost.count == 0; });
  std::erase_if(from, [](const auto& cpu) { return cpu.second.empty(); });
}

// The snapshot that ended when the rings of this one became empty. Nothing: there is none, or it
// cannot be read.
std::optional<StoredSnapshot> previous_of(const SnapshotJob& job, const TraceStore& store) {
  auto found = find_snapshot(store, job.manifest.origin.boot_id, job.frozen.begin_ts);
  return found ? std::move(*found) : std::nullopt;
}

// The reason is logged, so it must not forge lines of the log.
Result<> check_reason(std::string_view reason) {
  if (auto unfit = unfit_for_a_line(reason); !unfit.empty())
    return fail(ExitCode::usage,
                "the reason of a snapshot must be one line of text, but this one contains {}",
                unfit);
  return {};
}

}  // namespace

Snapshots::Snapshots(EventLoop& loop, const TracerParts& tracer, KernelSymbols& symbols,
                     const ReaderAccess& access, const FlightConfig& config)
    : loop_(loop),
      tracer_(tracer),
      symbols_(symbols),
      access_(access),
      config_(config),
      store_(std::make_shared<TraceStore>(config.directory)),
      waiting_(loop,
               [this] {
                 const auto ready = check_ready();
                 return ready ? Error{ExitCode::unavailable, "a bank is spare"} : ready.error();
               }),
      lost_before_(describe_losses(tracer.replaced)),
      reader_(loop, "ktraced-reader"),
      thread_(loop, "ktraced-writer") {}

void Snapshots::apply(const FlightConfig& config) {
  if (config.directory != config_.directory)
    store_ = std::make_shared<TraceStore>(config.directory);
  config_ = config;
  recover();
  serve_waiting();
}

std::string Snapshots::free_name(std::string_view prefix) const {
  return trace_name(prefix, clock_ns(CLOCK_REALTIME), [&](const std::string& name) {
    return writing(name) || waiting_.contains(name) || store_->taken(name);
  });
}

bool Snapshots::writing(const std::string& name) const {
  return std::ranges::any_of(writing_,
                             [&](const auto& entry) { return entry.second.snapshot.name == name; });
}

Result<> Snapshots::check_request_name(const std::string& name) const {
  if (auto checked = check_trace_name(name); !checked) return checked;
  if (writing(name))
    return fail(ExitCode::usage, "a snapshot '{}' is being written already: choose another name",
                name);
  if (waiting_.contains(name))
    return fail(ExitCode::usage, "a snapshot '{}' waits for a spare bank: choose another name",
                name);
  if (store_->taken(name))
    return fail(ExitCode::usage, "there is a snapshot '{}' already: choose another name", name);
  return {};
}

Result<> Snapshots::check_request(const SnapshotRequest& request) const {
  if (finished_) return std::unexpected(stopping());
  if (!request.name.empty())
    if (auto checked = check_request_name(request.name); !checked) return checked;
  return check_reason(request.reason);
}

Result<SnapshotTaken> Snapshots::take(const SnapshotRequest& request, OnWritten on_written) {
  auto taken = swap_and_write(request, std::move(on_written));
  if (!taken) ++counts_.refused;
  return taken;
}

Result<SnapshotTaken> Snapshots::swap_and_write(const SnapshotRequest& request,
                                                OnWritten on_written) {
  if (auto checked = check_request(request); !checked) return propagate(checked);
  SnapshotRequest named = request;
  if (named.name.empty()) named.name = free_name("snapshot");
  if (auto ready = check_ready(); !ready) return propagate(ready);
  FlightRecorder& flight = tracer_.rings.flight();
  // Before the swap: history that cannot be written must stay where it is.
  if (auto claimed = store_->claim(); !claimed) return propagate(claimed);
  if (auto room = store_->check_room(flight.history_bytes()); !room) return propagate(room);
  if (auto free = store_->check_descriptors(kDirectories + flight.cpus()); !free)
    return propagate(free);
  auto frozen = flight.swap();
  if (!frozen) return propagate(frozen);
  return write(*frozen, named, std::move(on_written), false);
}

void Snapshots::take_or_wait(const SnapshotRequest& request, std::chrono::milliseconds timeout,
                             const std::function<bool()>& connected, const OnTaken& on_taken,
                             const OnWritten& on_written) {
  const auto take_now = [this, request, on_taken, on_written] {
    on_taken(take(request, on_written));
  };
  if (timeout.count() == 0 || (waiting_.size() == 0 && !must_wait())) return take_now();
  const auto refuse = [this, on_taken](const Error& error) {
    ++counts_.refused;
    on_taken(std::unexpected(error));
  };
  auto waits = check_request(request);
  if (waits)
    waits = waiting_.add(
        {.name = request.name, .connected = connected, .take = take_now, .fail = refuse}, timeout);
  if (!waits) refuse(waits.error());
}

// While the recorder is off, take() fails with the reason.
bool Snapshots::must_wait() const {
  const FlightRecorder& flight = tracer_.rings.flight();
  return flight.enabled() && !flight.ready();
}

// Call it whenever a bank may have become spare.
void Snapshots::serve_waiting() {
  waiting_.serve([this] { return !must_wait(); });
}

Result<> Snapshots::check_ready() const {
  const auto ready = tracer_.rings.flight().ready();
  if (!ready && tracer_.rings.flight().enabled() && !unsaved_.empty())
    return fail(ready.error().code,
                "no spare bank: what an earlier daemon recorded waits to be written: {}",
                unsaved_because_);
  return ready;
}

// Snapshots that are being written report their own losses.
LostByCpu Snapshots::unrecorded() const {
  LostByCpu lost = tracer_.rings.flight_drops();
  for (const auto& [id, writing] : writing_)
    if (!writing.recovery) subtract(writing.unrecorded, lost);
  return lost;
}

// Readers may open the snapshot.
void Snapshots::mask(SnapshotJob& job) const {
  job.mask = access_.mask_for_trace(job.manifest.schema);
  if (!job.mask || !job.mask->hides_kernel()) return;
  job.manifest.schema = without_addresses(std::move(job.manifest.schema));
  job.manifest.config = without_addresses(job.manifest.config);
  job.names.records = job.mask->masked_metadata(job.names.records);
}

SnapshotTaken Snapshots::write(const FlightRecorder::Frozen& frozen, const SnapshotRequest& request,
                               OnWritten on_written, bool recovery) {
  const uint64_t id = ++last_id_;
  SnapshotTaken snapshot{.name = request.name, .path = store_->path_of(request.name)};
  const LostByCpu lost = unrecorded();
  writing_[id] = {.snapshot = snapshot,
                  .reason = request.reason,
                  .frozen = frozen,
                  .unrecorded = lost,
                  .begun = std::chrono::steady_clock::now(),
                  .recovery = recovery,
                  .on_written = std::move(on_written)};
  tracer_.rings.flight().set_name(frozen.bank, snapshot.name);
  auto job = std::make_shared<SnapshotJob>(SnapshotJob{
      .path = snapshot.path,
      .frozen = frozen,
      .unrecorded = lost,
      .manifest = tracer_.metadata.manifest(SESSION_RECORDER),
      .names = tracer_.metadata.names_since(frozen.begin_ts),
      .commands = [&metadata = tracer_.metadata] { return metadata.commands().records(); },
      .user_code =
          [&metadata = tracer_.metadata](TraceWriter& writer, const RealStart& real) {
            for (const std::string& problem : add_user_code(metadata.build_ids(), writer, real))
              spdlog::warn("snapshot: {}", problem);
          }});
  job->manifest.config = tracer_.trace_configs.since(frozen.begin_ts);
  job->known_since = tracer_.trace_configs.known_since();
  job->manifest.name = request.name;
  job->manifest.reason = request.reason;
  job->manifest.requested_by = request.requested_by;
  if (!recovery) job->manifest.incomplete_because = lost_before_;
  mask(*job);
  thread_.run(
      [this, job, store = store_, limits = limits_of(config_)]() -> Result<Written> {
        job->written_time = written_time_in(store->directory(), system_realtime());
        const auto previous = previous_of(*job, *store);
        if (previous) job->manifest.previous = previous->name;
        auto summary = write_snapshot(*job, symbols_);
        if (!summary) return propagate(summary);
        Written written{std::move(*summary), enforce(*store, limits, job->manifest.name)};
        written.summary.with_previous =
            with_previous(*store, job->manifest.name, written.summary, previous);
        return written;
      },
      [this, id](const Result<Written>& written) { this->on_written(id, written); });
  return snapshot;
}

void Snapshots::on_written(uint64_t id, const Result<Written>& result) {
  auto entry = writing_.extract(id);
  const Writing& done = entry.mapped();
  if (!result && done.recovery) {
    unsaved_.push_back(done.frozen);
    keep_unsaved(result.error().message);
    return call_if_finished();
  }
  count(done, result.has_value());
  const auto written =
      result ? Result<SnapshotSummary>(result->summary) : failed(done.snapshot, result.error());
  tracer_.rings.flight().release(done.frozen.bank);
  // The losses in a recovered snapshot may have happened after it, so the next snapshot reports
  // them too.
  if (result && !done.recovery) {
    tracer_.rings.report_flight_drops(done.unrecorded);
    lost_before_.clear();
  }
  log_written(done.snapshot, done.reason, written);
  if (result) retention_log_.add(result->enforced);
  if (done.on_written) done.on_written(written);
  serve_waiting();
  call_if_finished();
}

void Snapshots::count(const Writing& done, bool written) {
  if (!written) {
    ++counts_.failed;
    return;
  }
  ++counts_.written;
  counts_.last_ns = clock_ns(CLOCK_REALTIME);
  counts_.last_duration = std::chrono::steady_clock::now() - done.begun;
}

void Snapshots::finish(bool persist, std::function<void()> done) {
  stop_reading_.request_stop();
  finished_ = std::move(done);
  persist_ = persist;
  waiting_.fail_all(stopping());
  recover();
  retry_.reset();
  call_if_finished();
}

void Snapshots::call_if_finished() {
  if (!finished_ || !writing_.empty()) return;
  if (!unsaved_.empty())
    spdlog::error("what an earlier daemon recorded {}: {}",
                  persist_ ? "is left to the next one" : "is lost", unsaved_because_);
  finished_();
}

}  // namespace ktraced
