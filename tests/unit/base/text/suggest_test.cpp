// SPDX-License-Identifier: BSD-2-Clause
#include "base/text/suggest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ktraced {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Suggest, FindsTheMostSimilarName) {
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

TEST(Suggest, PrefersNamesThatDifferByFewerLetters) {
  EXPECT_THAT(near_matches("opennat", {"open", "openat", "openat2"}), ElementsAre("openat"));
  EXPECT_THAT(near_matches("tid", {"pid", "uid", "comm"}), ElementsAre("pid", "uid"));
  EXPECT_THAT(near_matches("ste", {"set", "sum"}), ElementsAre("set")) << "one swap";
  EXPECT_THAT(near_matches("OPENAT", {"openat", "openat2"}), ElementsAre("openat"));
  EXPECT_THAT(near_matches("pid", {"pid"}), IsEmpty());
  EXPECT_THAT(near_matches("e", {"sched", "kfree"}), IsEmpty());
  EXPECT_THAT(near_matches("x", {"y"}), IsEmpty()) << "no letter is the same";
}

TEST(Suggest, ReportsUnknownNamesInOneWording) {
  const std::vector<std::string> names{"kmalloc", "kfree", "pid", "uid", "xid"};
  EXPECT_EQ(unknown_name("event", "kmaloc", names, "see there"),
            "unknown event 'kmaloc'; did you mean 'kmalloc'?");
  EXPECT_EQ(unknown_name("key", "tid", names),
            "unknown key 'tid'; did you mean 'pid', 'uid' or 'xid'?");
  EXPECT_EQ(unknown_name("event", "zzzzzzzz", names, "see there"),
            "unknown event 'zzzzzzzz'; see there");
  EXPECT_EQ(unknown_name("event", "zzzzzzzz", names), "unknown event 'zzzzzzzz'");
}

TEST(Suggest, EscapesTheTypedName) {
  EXPECT_EQ(unknown_name("event", "a\x1b[1m\n\xff", {}), "unknown event 'a\\x1b[1m\\x0a\\xff'");
  EXPECT_EQ(unknown_name("event", std::string(100000, 'k'), {}),
            "unknown event '" + std::string(64, 'k') + "…'");
}

}  // namespace
}  // namespace ktraced
