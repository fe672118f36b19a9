#include "base/suggest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ktraced {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Suggest, FindsWhatWasProbablyMeant) {
  const std::vector<std::string> names{"sched_switch", "sched_waking", "sched_wakeup", "kmalloc",
                                       "kfree",        "sys_enter",    "sys_exit"};
  EXPECT_THAT(near_matches("sched_swich", names), ElementsAre("sched_switch"));
  EXPECT_THAT(near_matches("malloc", names), ElementsAre("kmalloc"));
  EXPECT_THAT(near_matches("free", names), ElementsAre("kfree"));
  EXPECT_THAT(near_matches("sys_entr", names), Contains("sys_enter"));
  EXPECT_THAT(near_matches("sched", names), SizeIs(3));
  EXPECT_THAT(near_matches("zzzzzzzz", names), IsEmpty());
  EXPECT_THAT(near_matches("", names), IsEmpty());
  EXPECT_THAT(near_matches(std::string(100000, 'k'), names), IsEmpty());
}

}  // namespace
}  // namespace ktraced
