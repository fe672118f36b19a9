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

}  // namespace
}  // namespace ktraced
