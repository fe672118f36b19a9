// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshots/retention_log.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace ktraced {
namespace {

std::string size_text(uint64_t bytes) {
  return fmt::format("{:.2f} MiB", static_cast<double>(bytes) / (1U << 20));
}

std::string limit_text(const Eviction& eviction, const Retention& limits) {
  return eviction.over_count
             ? fmt::format("there were more than {} (flight.max_snapshots)", limits.max_count)
             : fmt::format("all together had more than {} MiB (flight.max_total_mb)",
                           limits.max_bytes >> 20);
}

void log_excess(const Excess& excess, const Retention& limits) {
  spdlog::warn(
      "{} snapshots of {} exceed flight.max_snapshots ({}) or flight.max_total_mb ({}), because {} "
      "are kept: 'ktracectl snapshot keep --undo NAME' lets retention remove one",
      excess.count, size_text(excess.bytes), limits.max_count, limits.max_bytes >> 20, excess.kept);
}

}  // namespace

void RetentionLog::add(const Enforced& enforced) {
  for (const Eviction& eviction : enforced.evicted) {
    spdlog::info("removed the snapshot {} ({}): {}", eviction.name, size_text(eviction.bytes),
                 limit_text(eviction, enforced.limits));
    ++counts_.evicted;
    counts_.evicted_bytes += eviction.bytes;
  }
  const bool before = std::exchange(exceeded_, enforced.excess.has_value());
  if (!enforced.excess) return;
  ++counts_.limits_exceeded;
  if (!before) log_excess(*enforced.excess, enforced.limits);
}

}  // namespace ktraced
