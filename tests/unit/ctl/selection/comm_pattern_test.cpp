// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/selection/comm_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ktraced {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(CommPattern, TakesKernelWorkersAsPsShowsThem) {
  for (const auto& [shown, comm] : std::initializer_list<std::pair<const char*, const char*>>{
           {"kworker/u8:3-events_unbound", "kworker/u8:3"},
           {"kworker/u8:3+events_unbound", "kworker/u8:3"},
           {"kworker/0:1H-kblockd", "kworker/0:1H"},
           {"kworker/0:1-mm_percpu-wq+x", "kworker/0:1"},
           {"kworker/0:0", "kworker/0:0"},
           {"kworker/u257:1234-ext4-rsv-conversion", "kworker/u257:12"},
           {"kworker/R-kvfree_rcu_reclaim", "kworker/R-kvfre"},
           {"kworker/R-xfs-a:b-c", "kworker/R-xfs-a"},
           {"kworker/dying", "kworker/dying"},
           {"kworker/u8:*", "kworker/u8:*"},
           {"kworker/*", "kworker/*"},
           {"worker:1-2", "worker:1-2"}})
    EXPECT_EQ(kernel_comm(shown), comm);
}

TEST(CommPattern, RefusesWhatNoTaskHas) {
  EXPECT_EQ(comm_pattern("nginx*").value(), "nginx*");
  EXPECT_EQ(comm_pattern("fifteen_bytes_x").value(), "fifteen_bytes_x");
  EXPECT_EQ(comm_pattern("fifteen_bytes_x*").value(), "fifteen_bytes_x*");
  const auto longer = comm_pattern("rcu_tasks_rude_kthread");
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, ExitCode::usage);
  EXPECT_EQ(longer.error().message,
            "'rcu_tasks_rude_kthread' is longer than the 15 bytes the kernel keeps of a task's "
            "name; did you mean 'rcu_tasks_rude_'?");
  EXPECT_THAT(comm_pattern("rcu_tasks_rude_k*").error().message, HasSubstr("longer than"));
  EXPECT_EQ(comm_pattern("*").error().message, "'*': '*' alone matches every task: leave it out");
  EXPECT_EQ(comm_pattern("a*b").error().message, "'a*b': '*' is possible only at the end");
}

TEST(CommPattern, SuggestsWhatCanBeTyped) {
  const auto reason = [](const char* typed) { return comm_pattern(typed).error().message; };
  EXPECT_THAT(reason("äöüäöüäöüäö"), HasSubstr("did you mean 'äöüäöüä*'?"));
  EXPECT_THAT(reason("xäöüäöüäöüäö"), HasSubstr("did you mean 'xäöüäöüä'?"));
  EXPECT_THAT(reason("twelve_bytes€€"), HasSubstr("did you mean 'twelve_bytes€'?"));
  EXPECT_THAT(reason("thirteenbytes€"), HasSubstr("did you mean 'thirteenbytes*'?"));
  EXPECT_THAT(reason("a*_that_is_not_at_the_end"), Not(HasSubstr("did you mean")));
}

}  // namespace
}  // namespace ktraced
