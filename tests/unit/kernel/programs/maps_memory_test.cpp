// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "bpf/shared_state.h"
#include "kernel/programs/bpf_loader.h"

namespace ktraced {
namespace {

TEST(MapsMemory, HasWhatTheKernelAddsToEachElementOfAHash) {
  const auto bytes = maps_memory({});
  ASSERT_TRUE(bytes) << bytes.error().message;
  constexpr uint64_t kElement = 48 + sizeof(uint64_t);  // with its key
  EXPECT_GT(*bytes, uint64_t{NAME_CHANGES_MAX} * sizeof(name_change) +
                        uint64_t{TASKS_MAX} * (kElement + sizeof(task_info)) +
                        uint64_t{FOLLOWED_MAX} * (kElement + sizeof(followed_process)) +
                        uint64_t{CGROUPS_MAX} * (kElement + sizeof(rec_metadata_cgroup)) +
                        uint64_t{REMOVED_CGROUPS_MAX} * sizeof(removed_cgroup));
}

TEST(MapsMemory, IsWithoutTheRings) {
  const auto small = maps_memory({.flight_bytes = 64U << 10});
  const auto large = maps_memory({.flight_bytes = 64U << 20});
  ASSERT_TRUE(small && large);
  EXPECT_EQ(*small, *large);
}

}  // namespace
}  // namespace ktraced
