// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/stream/ring_memory.h"

#include <fmt/format.h>

#include "base/files/cgroup_memory.h"
#include "kernel/rings/flight_ring.h"

namespace ktraced {
namespace {

std::unexpected<Error> no_memory(const RingMemory& rings, const Error& why) {
  return fail(why.code, "the new {}, but {}: choose smaller ones", rings.text(), why.message);
}

}  // namespace

uint64_t RingMemory::bytes() const {
  return cpus * (flight_banks * uint64_t{FlightRing::whole_size(flight_bytes)} + stream_bytes);
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
  return fmt::format("{} take {} MiB ({} CPUs x {})", what, bytes() >> 20, cpus, of_a_cpu);
}

Result<> check_memory_limit(const RingMemory& rings) {
  if (rings.bytes() == 0) return {};
  if (auto fits = check_memory_limit(memory_limits(), rings.bytes()); !fits)
    return no_memory(rings, fits.error());
  return {};
}

Result<> check_memory_room(const RingMemory& rings) {
  if (rings.bytes() == 0) return {};
  if (auto fits = check_memory_room(memory_limits(), rings.bytes()); !fits)
    return no_memory(rings, fits.error());
  return {};
}

}  // namespace ktraced
