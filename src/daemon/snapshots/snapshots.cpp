// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshots/snapshots.h"

#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <time.h>

#include <algorithm>

#include "base/clock.h"
#include "base/text/plain_text.h"
#include "daemon/runtime/failure_barrier.h"

namespace ktraced {
namespace {

using nlohmann::json;

// How long `status` waits for manifests to be read.
constexpr std::chrono::milliseconds kStatusTimeout{50};

Retention retention_of(const FlightConfig& config) {
  return {.max_count = config.max_snapshots, .max_bytes = uint64_t{config.max_total_mb} << 20};
}

Result<SnapshotSummary> failed(const SnapshotTaken& snapshot, const Error& error) {
  return fail(error.code, "snapshot {} could not be written, its history is lost: {}",
              snapshot.name, error.message);
}

void log_written(const SnapshotTaken& snapshot, const std::string& reason,
                 const Result<SnapshotSummary>& written) {
  if (!written)
    spdlog::error("{}", written.error().message);
  else if (written->incomplete_because.empty())
    spdlog::info("wrote {} ({}): {} records, complete", snapshot.path.string(), reason,
                 written->records);
  else
    spdlog::warn("wrote {} ({}): {} records, incomplete: {}", snapshot.path.string(), reason,
                 written->records, fmt::join(written->incomplete_because, "; "));
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

void enforce(const TraceStore& store, const Retention& retention, const std::string& newest) {
  for (const std::string& name : store.enforce(retention, newest))
    spdlog::info("removed the snapshot {}: flight.max_snapshots or flight.max_total_mb", name);
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

Snapshots::Snapshots(EventLoop& loop, Tracer& tracer, KernelSymbols& symbols,
                     const FlightConfig& config)
    : loop_(loop),
      tracer_(tracer),
      symbols_(symbols),
      config_(config),
      store_(std::make_shared<TraceStore>(config.directory)),
      reader_(loop, "ktraced-reader"),
      thread_(loop, "ktraced-writer") {}

void Snapshots::apply(const FlightConfig& config) {
  if (config.directory != config_.directory)
    store_ = std::make_shared<TraceStore>(config.directory);
  config_ = config;
  recover();
}

std::string Snapshots::free_name(std::string_view prefix) const {
  return trace_name(prefix, clock_ns(CLOCK_REALTIME),
                    [&](const std::string& name) { return writing(name) || store_->taken(name); });
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
  if (store_->taken(name))
    return fail(ExitCode::usage, "there is a snapshot '{}' already: choose another name", name);
  return {};
}

Result<SnapshotTaken> Snapshots::take(const SnapshotRequest& request, OnWritten on_written) {
  if (finished_) return fail(ExitCode::unavailable, "no snapshot is taken: the daemon is stopping");
  SnapshotRequest named = request;
  if (named.name.empty()) named.name = free_name("snapshot");
  if (auto checked = check_request_name(named.name); !checked) return propagate(checked);
  if (auto checked = check_reason(named.reason); !checked) return propagate(checked);
  if (auto ready = check_ready(); !ready) return propagate(ready);
  FlightRecorder& flight = tracer_.rings().flight();
  // Before the swap: history that cannot be written must stay where it is.
  if (auto claimed = store_->claim(); !claimed) return propagate(claimed);
  if (auto room = store_->check_room(flight.history_bytes()); !room) return propagate(room);
  auto frozen = flight.swap();
  if (!frozen) return propagate(frozen);
  return write(*frozen, named, std::move(on_written), false);
}

Result<> Snapshots::check_ready() const {
  const auto ready = tracer_.rings().flight().ready();
  if (!ready && tracer_.rings().flight().enabled() && !unsaved_.empty())
    return fail(ready.error().code,
                "no spare bank: what an earlier daemon recorded waits to be written: {}",
                unsaved_because_);
  return ready;
}

// Snapshots that are being written report their own losses.
LostByCpu Snapshots::unrecorded() const {
  LostByCpu lost = tracer_.rings().flight_drops();
  for (const auto& [id, writing] : writing_)
    if (!writing.recovery) subtract(writing.unrecorded, lost);
  return lost;
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
                  .recovery = recovery,
                  .on_written = std::move(on_written)};
  tracer_.rings().flight().set_name(frozen.bank, snapshot.name);
  KernelNames::History names = tracer_.metadata().names_since(frozen.begin_ts);
  auto job = std::make_shared<SnapshotJob>(SnapshotJob{.path = snapshot.path,
                                                       .frozen = frozen,
                                                       .unrecorded = lost,
                                                       .manifest = tracer_.metadata().manifest(),
                                                       .names = std::move(names.records),
                                                       .names_since = names.complete_since});
  job->manifest.config = tracer_.trace_configs().since(frozen.begin_ts);
  job->known_since = tracer_.trace_configs().known_since();
  job->manifest.name = request.name;
  job->manifest.reason = request.reason;
  job->manifest.requested_by = request.requested_by;
  thread_.run(
      [this, job, store = store_, retention = retention_of(config_)] {
        auto written = as_result([&] { return write_snapshot(*job, symbols_); });
        if (written) enforce(*store, retention, job->manifest.name);
        return written;
      },
      [this, id](const Result<SnapshotSummary>& written) { this->on_written(id, written); });
  return snapshot;
}

void Snapshots::on_written(uint64_t id, const Result<SnapshotSummary>& result) {
  auto entry = writing_.extract(id);
  const Writing& done = entry.mapped();
  if (!result && done.recovery) {
    unsaved_.push_back(done.frozen);
    keep_unsaved(result.error().message);
    return call_if_finished();
  }
  const auto written = result ? result : failed(done.snapshot, result.error());
  tracer_.rings().flight().release(done.frozen.bank);
  // The losses in a recovered snapshot may have happened after it, so the next snapshot reports
  // them too.
  if (result && !done.recovery) tracer_.rings().report_flight_drops(done.unrecorded);
  log_written(done.snapshot, done.reason, written);
  if (done.on_written) done.on_written(written);
  call_if_finished();
}

Result<> Snapshots::remove(const std::string& name, OnDeleted on_deleted) {
  if (auto checked = check_trace_name(name); !checked) return checked;
  if (writing(name))
    return fail(ExitCode::usage, "the snapshot '{}' is being written: delete it when it is done",
                name);
  // One thread writes and removes snapshots, so that removals never race with writing.
  thread_.run([name, store = store_] { return remove_snapshot(*store, name); },
              std::move(on_deleted));
  return {};
}

void Snapshots::list(OnListed then) {
  reader_.run([this, store = store_]() -> Result<json> { return list_.entries(*store); },
              [this, store = store_, then = std::move(then)](Result<json> entries) {
                if (!entries) return then(propagate(entries));
                json names = json::array();
                for (const auto& [id, writing] : writing_) names.push_back(writing.snapshot.name);
                then(json{{"directory", store->directory().string()},
                          {"snapshots", std::move(*entries)},
                          {"writing", std::move(names)}});
              });
}

void Snapshots::status(OnRead then) {
  const uint64_t id = ++last_id_;
  auto timer = loop_.add_timer(kStatusTimeout, [this, id] { answer_status(id); });
  if (!timer) return then(status_now());
  status_requests_[id] = {.then = std::move(then), .timer = std::move(*timer)};
  reader_.run(
      [this, store = store_]() -> Result<SnapshotList::Sum> {
        return list_.sum(*store, [this](const SnapshotList::Sum& sum) {
          loop_.post([this, sum] { sum_ = sum; });
        });
      },
      [this, id](const Result<SnapshotList::Sum>& sum) {
        if (!stop_reading_.stop_requested()) sum_ = sum;
        answer_status(id);
      });
}

// Answers once: when all manifests are read, or after kStatusTimeout.
void Snapshots::answer_status(uint64_t id) {
  if (const auto request = status_requests_.extract(id)) request.mapped().then(status_now());
}

json Snapshots::status_now() const {
  return {{"banks", config_.banks},
          {"directory", store_->directory().string()},
          {"ring_bytes", uint64_t{config_.buffer_kb} * 1024},
          {"frozen", writing_.size() + unsaved_.size()},
          {"unsaved", unsaved_.empty() ? json() : json(unsaved_because_)},
          {"snapshots", sum_ ? json(sum_->count) : json()},
          {"snapshots_bytes", sum_ ? json(sum_->bytes) : json()},
          {"snapshots_unknown", sum_ ? json() : json(sum_.error().message)}};
}

void Snapshots::finish(bool persist, std::function<void()> done) {
  stop_reading_.request_stop();
  finished_ = std::move(done);
  persist_ = persist;
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
