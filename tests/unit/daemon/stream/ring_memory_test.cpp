// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/stream/ring_memory.h"

#include <gtest/gtest.h>

namespace ktraced {
namespace {

TEST(RingMemory, OfNoRingsIsNothing) {
  const RingMemory none{.cpus = 4, .flight_bytes = 8 << 20};
  EXPECT_EQ(none.bytes(), 0U);
  EXPECT_TRUE(check_memory_room(none));
}

TEST(RingMemory, IsThatOfAllRingsTogether) {
  const RingMemory rings{
      .cpus = 2, .flight_banks = 2, .flight_bytes = 32 << 20, .stream_bytes = 4 << 20};
  EXPECT_EQ(rings.bytes() >> 20, 136U);
  EXPECT_EQ(rings.text(),
            "rings take 136 MiB (2 CPUs x (stream.buffer_kb 4096 + flight.banks 2 x "
            "flight.buffer_kb 32768))");
}

TEST(RingMemory, NamesOnlyTheRingsThatThereAre) {
  EXPECT_EQ((RingMemory{.cpus = 2, .stream_bytes = 4 << 20}.text()),
            "stream rings take 8 MiB (2 CPUs x stream.buffer_kb 4096)");
  EXPECT_EQ((RingMemory{.cpus = 1, .flight_banks = 4, .flight_bytes = 1 << 20}.text()),
            "flight rings take 4 MiB (1 CPUs x flight.banks 4 x flight.buffer_kb 1024)");
}

TEST(RingMemory, IsAlsoThatOfStacks) {
  const RingMemory stacks{.stack_bytes = 3 << 19};
  EXPECT_EQ(stacks.bytes(), 3U << 19);
  EXPECT_EQ(stacks.text(), "buffers for stacks take 1.5 MiB");
  const RingMemory both{.cpus = 2, .stream_bytes = 4 << 20, .stack_bytes = 3 << 19};
  EXPECT_EQ(both.bytes(), (8U << 20) + (3U << 19));
  EXPECT_EQ(both.text(),
            "stream rings take 8 MiB (2 CPUs x stream.buffer_kb 4096) and buffers for stacks 1.5 "
            "MiB");
}

std::vector<MemoryLimit> limit_of(uint64_t mib) {
  return {{.group = "/x", .limit = mib << 20, .left = mib << 20}};
}

// 8 MiB stay free.
TEST(RingMemory, OfAStartMustFitBesideTheProgramsAndMaps) {
  const RingMemory rings{.cpus = 2, .flight_banks = 2, .flight_bytes = 16 << 20};
  const StartMemory start{.maps = 20 << 20, .model = 16 << 20};
  const uint64_t needed_mib = (rings.bytes() + start.maps + StartMemory::kPrograms) >> 20;
  EXPECT_TRUE(check_memory_limit(limit_of(needed_mib + 9), rings, start));
  const auto refused = check_memory_limit(limit_of(needed_mib + 7), rings, start);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ExitCode::unavailable);
  EXPECT_EQ(refused.error().message,
            "the new flight rings take 64 MiB (2 CPUs x flight.banks 2 x flight.buffer_kb 16384) "
            "and the programs and maps of the daemon 32 MiB, but the memory limit of 103 MiB of "
            "the control group /x is too low for them (MemoryMax= of a service raises it): choose "
            "smaller ones");
}

TEST(RingMemory, OfAStartIsNotAllThatLoadingProgramsTakes) {
  const StartMemory start{.maps = 20 << 20, .model = 1 << 20};
  for (const uint32_t banks : {0, 2}) {
    const RingMemory rings{.cpus = 2, .flight_banks = banks, .flight_bytes = 64 << 10};
    EXPECT_TRUE(check_memory_limit(limit_of(51), rings, start));
    const auto refused = check_memory_limit(limit_of(50), rings, start);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ExitCode::unavailable);
    EXPECT_EQ(refused.error().message,
              "the programs and maps of the daemon take up to 43 MiB while they are loaded, with "
              "one flight ring of flight.buffer_kb 64, but the memory limit of 50 MiB of the "
              "control group /x is too low for them (MemoryMax= of a service raises it)");
  }
  EXPECT_TRUE(
      check_memory_limit({}, {.cpus = 1, .flight_banks = 9, .flight_bytes = 1 << 30}, start))
      << "there is no limit";
}

}  // namespace
}  // namespace ktraced
