// SPDX-License-Identifier: BSD-2-Clause
// Writes banks that an earlier daemon has frozen but not saved.
#include <spdlog/spdlog.h>

#include <utility>

#include "base/files/host.h"
#include "base/files/partial_directory.h"
#include "daemon/snapshots/snapshots.h"

namespace ktraced {
namespace {

// How often a failed write is repeated.
constexpr std::chrono::milliseconds kRecoveryInterval{2000};

uint64_t history_bytes_of(const std::vector<FlightRecorder::Frozen>& banks) {
  uint64_t sum = 0;
  for (const FlightRecorder::Frozen& frozen : banks)
    for (const auto& [cpu, ring] : frozen.rings) sum += ring->history_bytes();
  return sum;
}

}  // namespace

Result<> Snapshots::begin() {
  if (config_.enabled) {
    auto claimed = store_->claim();
    if (!claimed && claimed.error().code == ExitCode::unavailable) return claimed;
    if (!claimed) spdlog::warn("snapshots cannot be written: {}", claimed.error().message);
  }
  store_->finish_removals();
  unsaved_ = tracer_.rings.flight().unfinished();
  recover();
  // Unfinished snapshots of earlier daemons, whose banks no longer exist.
  const auto unfinished = store_->list_unfinished("");
  if (!unfinished)
    spdlog::warn("unfinished snapshots are not known: {}", unfinished.error().message);
  else
    for (const StoredTrace& trace : *unfinished)
      if (!writing(trace.name.substr(0, trace.name.rfind('.'))))
        spdlog::warn(
            "{} was not finished by an earlier daemon: 'ktracectl show --partial' reads it",
            store_->path_of(trace.name).string());
  return {};
}

void Snapshots::recover() {
  for (auto frozen = unsaved_.begin(); frozen != unsaved_.end();) {
    const auto saved = is_saved(*frozen);
    if (!saved) return keep_unsaved(saved.error().message);
    if (*saved) tracer_.rings.flight().release(frozen->bank);
    frozen = *saved ? unsaved_.erase(frozen) : std::next(frozen);
  }
  if (unsaved_.empty()) return retry_.reset();
  if (auto claimed = store_->claim(); !claimed) return keep_unsaved(claimed.error().message);
  if (auto room = store_->check_room(history_bytes_of(unsaved_)); !room)
    return keep_unsaved(room.error().message);
  retry_.reset();
  for (const FlightRecorder::Frozen& frozen : std::exchange(unsaved_, {})) {
    const std::string partial = frozen.name + kPartialSuffix;
    if (!frozen.name.empty() && store_->remove_any(partial))
      spdlog::warn("removed {}, which an earlier daemon has not finished: it is written again",
                   store_->path_of(partial).string());
    write(frozen,
          {.name = free_name("recovered"),
           .reason = "frozen by a daemon that ended before it was written",
           .requested_by = "ktraced"},
          nullptr, true);
  }
}

// The earlier daemon may have ended just after it had written the bank.
Result<bool> Snapshots::is_saved(const FlightRecorder::Frozen& frozen) const {
  auto found = find_snapshot(*store_, boot_id(), frozen.swap_ts);
  if (!found) return propagate(found);
  const auto& saved = *found;
  if (saved)
    spdlog::info("{} holds what an earlier daemon has frozen",
                 store_->path_of(saved->name).string());
  return saved.has_value();
}

// Logs each reason once. At the end there are no more attempts: call_if_finished() logs it.
void Snapshots::keep_unsaved(const std::string& why) {
  const bool unreported = std::exchange(unsaved_because_, why) != why;
  if (finished_) return;
  if (unreported)
    spdlog::error("what an earlier daemon recorded cannot be written yet, trying again: {}", why);
  if (retry_) return;
  auto timer = loop_.add_repeating_timer(kRecoveryInterval, [this] {
    recover();
    serve_waiting();
  });
  if (timer) retry_ = std::move(*timer);
}

}  // namespace ktraced
