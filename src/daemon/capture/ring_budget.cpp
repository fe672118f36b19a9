// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/ring_budget.h"

#include <algorithm>
#include <bit>

#include "kernel/stacks/stack_programs.h"

namespace ktraced {

RingBudget ring_budget(const Config& config) {
  return {.ring_bytes = size_t{config.stream.buffer_kb} << 10,
          .total_bytes = size_t{config.stream.total_mb} << 20};
}

RingMemory flight_rings(const FlightConfig& config, size_t cpus) {
  return {.cpus = cpus,
          .flight_banks = config.enabled ? config.banks : 0,
          .flight_bytes = uint64_t{config.buffer_kb} << 10,
          .stream_bytes = 0};
}

uint64_t stack_bytes(const Config& config) {
  const auto samples = [](const EventsConfig& events) {
    return std::ranges::find(events.names, kSampleEvent) != events.names.end();
  };
  const auto& output = config.stream.output;
  const bool used = !config.stacks.events.empty() || samples(config.events) ||
                    (output && output->events && samples(*output->events));
  return used ? StackPrograms::memory_needed() : 0;
}

Result<size_t> ring_share(const RingBudget& budget, size_t used, size_t cpus,
                          const RingRequest& request) {
  const size_t left = budget.total_bytes - std::min(budget.total_bytes, used);
  const size_t most = left / std::max<size_t>(cpus, 1) / (request.ordinary_user ? 2 : 1);
  const size_t size = request.ring_bytes != 0
                          ? request.ring_bytes
                          : std::max(size_t{kStreamRingKbMin} << 10,
                                     std::min(budget.ring_bytes, std::bit_floor(most / 2)));
  if (size <= most) return size;
  return fail(ExitCode::unavailable,
              "there is no room for stream rings of {} KiB on {} CPUs: {} MiB of stream.total_mb "
              "({} MiB) are in use",
              size >> 10, cpus, used >> 20, budget.total_bytes >> 20);
}

}  // namespace ktraced
