// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/config_check.h"

#include <gtest/gtest.h>

namespace ktraced {
namespace {

TEST(RingMemory, CountsEveryRingOfEveryCpu) {
  Config config;
  config.stream.buffer_kb = 1024;
  config.flight.enabled = false;
  EXPECT_EQ(ring_memory(config, 4), 4U << 20);
  config.flight.enabled = true;
  config.flight.buffer_kb = 2048;
  config.flight.banks = 3;
  EXPECT_GE(ring_memory(config, 4), 4 * 7U << 20);
  EXPECT_LT(ring_memory(config, 4), 4 * 8U << 20);
}

TEST(RingMemory, DoesNotOverflowWithTheLargestRings) {
  Config config;
  config.stream.buffer_kb = config.flight.buffer_kb = 1U << 20;
  config.flight.banks = 8;
  EXPECT_GT(ring_memory(config, 8192), uint64_t{8192} * 9 << 30);
}

TEST(RingMemory, IsAProblemWhenItDoesNotFit) {
  Config config;
  config.stream.buffer_kb = 1024;
  config.flight.buffer_kb = 1U << 20;
  config.flight.banks = 8;
  EXPECT_FALSE(memory_problem(config, 2, uint64_t{17} << 30, "this machine has"));
  EXPECT_FALSE(memory_problem(config, 2, 0, "this machine has"));
  const auto problem = memory_problem(config, 4, uint64_t{17} << 30, "this machine has");
  ASSERT_TRUE(problem);
  EXPECT_TRUE(problem->starts_with("the rings take ")) << *problem;
  EXPECT_TRUE(problem->contains(
      " MiB (4 CPUs x (stream.buffer_kb 1024 + flight.banks 8 x flight.buffer_kb 1048576)), but "
      "this machine has 17408 MiB: "))
      << *problem;
}

TEST(RingMemory, OfNewFlightRingsIsAProblemWhenItIsNotAvailable) {
  FlightConfig config;
  config.buffer_kb = 1U << 19;
  config.banks = 8;
  EXPECT_FALSE(flight_memory_problem(config, 2, uint64_t{9} << 30));
  EXPECT_FALSE(flight_memory_problem(config, 2, 0));
  const auto problem = flight_memory_problem(config, 4, uint64_t{9} << 30);
  ASSERT_TRUE(problem);
  EXPECT_TRUE(problem->contains(" MiB (4 CPUs x flight.banks 8 x flight.buffer_kb 524288), but"))
      << *problem;
  config.enabled = false;
  EXPECT_FALSE(flight_memory_problem(config, 4, 1));
}

TEST(Meminfo, IsReadByKey) {
  const char* text = "MemTotal:        8119096 kB\nMemFree:          12 kB\nMemAvailable:   7 kB\n";
  EXPECT_EQ(meminfo_bytes(text, "MemTotal"), uint64_t{8119096} << 10);
  EXPECT_EQ(meminfo_bytes(text, "MemAvailable"), 7U << 10);
  EXPECT_EQ(meminfo_bytes(text, "Mem"), 0U);
  EXPECT_EQ(meminfo_bytes("", "MemTotal"), 0U);
  EXPECT_EQ(meminfo_bytes("MemTotal: none", "MemTotal"), 0U);
}

}  // namespace
}  // namespace ktraced
