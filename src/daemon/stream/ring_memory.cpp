// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/stream/ring_memory.h"

#include <fmt/format.h>

#include "kernel/rings/flight_ring.h"

namespace ktraced {
namespace {

std::unexpected<Error> no_memory(const std::string& needed, const Error& why) {
  return fail(why.code, "the new {}, but {}: choose smaller ones", needed, why.message);
}

double mib(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

uint64_t RingMemory::bytes() const {
  return cpus * (flight_banks * uint64_t{FlightRing::whole_size(flight_bytes)} + stream_bytes) +
         stack_bytes;
}

std::string RingMemory::text() const {
  const std::string flight =
      fmt::format("flight.banks {} x flight.buffer_kb {}", flight_banks, flight_bytes >> 10);
  const std::string stream = fmt::format("stream.buffer_kb {}", stream_bytes >> 10);
  const char* what = flight_banks == 0 ? "stream rings" : "flight rings";
  std::string of_a_cpu = flight_banks == 0 ? stream : flight;
  if (flight_banks != 0 && stream_bytes != 0) {
    what = "rings";
    of_a_cpu = fmt::format("({} + {})", stream, flight);
  }
  if (flight_banks == 0 && stream_bytes == 0)
    return fmt::format("buffers for stacks take {:.1f} MiB", mib(stack_bytes));
  const std::string rings = fmt::format("{} take {} MiB ({} CPUs x {})", what,
                                        (bytes() - stack_bytes) >> 20, cpus, of_a_cpu);
  if (stack_bytes == 0) return rings;
  return fmt::format("{} and buffers for stacks {:.1f} MiB", rings, mib(stack_bytes));
}

Result<> check_memory_limit(std::span<const MemoryLimit> limits, const RingMemory& rings,
                            const StartMemory& start) {
  if (rings.bytes() != 0)
    if (auto fits = check_memory_limit(limits, rings.bytes() + start.loaded()); !fits)
      return no_memory(fmt::format("{} and the programs and maps of the daemon {} MiB",
                                   rings.text(), start.loaded() >> 20),
                       fits.error());
  if (auto fits = check_memory_limit(limits, start.loading()); !fits)
    return fail(fits.error().code,
                "the programs and maps of the daemon take up to {} MiB while they are loaded, with "
                "one flight ring of flight.buffer_kb {}, but {}",
                start.loading() >> 20, rings.flight_bytes >> 10, fits.error().message);
  return {};
}

Result<> check_memory_room(const RingMemory& rings) {
  if (rings.bytes() == 0) return {};
  if (auto fits = check_memory_room(memory_limits(), rings.bytes()); !fits)
    return no_memory(rings.text(), fits.error());
  return {};
}

}  // namespace ktraced
