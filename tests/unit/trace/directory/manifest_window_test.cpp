// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "trace/directory/manifest.h"

namespace ktraced {
namespace {

CpuAccount ring(uint32_t number, uint64_t first_ns, uint64_t last_ns, uint64_t overwritten) {
  return {.cpu = number,
          .first_ns = first_ns,
          .last_ns = last_ns,
          .events = {{"kfree", {.records = 1, .overwritten = overwritten}}}};
}

// "common, furthest to end".
std::string described(std::vector<CpuAccount> cpus, uint64_t begin_ns = 10, uint64_t end_ns = 100) {
  Manifest manifest;
  manifest.begin_ns = begin_ns;
  manifest.end_ns = end_ns;
  manifest.cpus = std::move(cpus);
  const TraceWindow window = window_of(manifest);
  EXPECT_EQ(window.differs(), window.furthest_ns != window.begin_ns);
  return fmt::format("{}, {} to {}", window.begin_ns, window.furthest_ns, window.end_ns);
}

TEST(TraceWindow, OfRingsThatHaveOverwrittenNothingIsTheSame) {
  EXPECT_EQ(described({}), "10, 10 to 100");
  EXPECT_EQ(described({ring(0, 20, 90, 0), ring(1, 60, 95, 0)}), "10, 10 to 100");
  EXPECT_EQ(described({ring(0, 8, 90, 0), ring(1, 60, 103, 0)}), "8, 8 to 103") << "late records";
}

TEST(TraceWindow, BeginsWithTheLastRingThatHasOverwrittenRecords) {
  EXPECT_EQ(described({ring(0, 80, 90, 5), ring(1, 50, 95, 5)}), "80, 50 to 100");
  EXPECT_EQ(described({ring(0, 50, 90, 5), ring(1, 50, 95, 5)}), "50, 50 to 100");
  EXPECT_EQ(described({ring(0, 80, 90, 5), ring(1, 50, 95, 5)}, 80), "80, 50 to 100")
      << "as the daemon writes it";
}

TEST(TraceWindow, IsNotShortenedByCpusThatHaveOverwrittenNothing) {
  EXPECT_EQ(described({ring(0, 40, 90, 5), ring(1, 85, 95, 0), ring(2, 0, 0, 0)}, 40),
            "40, 40 to 100");
  EXPECT_EQ(described({ring(0, 40, 90, 5), ring(1, 20, 95, 0)}, 40), "40, 20 to 100");
}

TEST(TraceWindow, OfAListIsThatOfItsManifest) {
  ManifestSummary summary;
  summary.manifest.begin_ns = 80;
  summary.manifest.end_ns = 100;
  summary.cpus = {{.cpu = 0, .first_ns = 80, .last_ns = 90, .total = {.overwritten = 5}},
                  {.cpu = 1, .first_ns = 50, .last_ns = 95, .total = {.overwritten = 5}}};
  EXPECT_EQ(window_of(summary).begin_ns, 80U);
  EXPECT_EQ(window_of(summary).furthest_ns, 50U);
}

}  // namespace
}  // namespace ktraced
