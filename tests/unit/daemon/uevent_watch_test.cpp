// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/uevent_watch.h"

#include <gtest/gtest.h>

namespace ktraced {
namespace {

KernelChanges told_by(std::initializer_list<std::string_view> messages) {
  KernelChanges changes;
  for (const std::string_view message : messages) note_uevent(message, changes);
  return changes;
}

TEST(Uevents, TellOfCpus) {
  EXPECT_TRUE(told_by({"online@/devices/system/cpu/cpu1"}).cpus);
  EXPECT_TRUE(told_by({"offline@/devices/system/cpu/cpu1"}).cpus);
  EXPECT_FALSE(told_by({"online@/devices/system/cpu/cpu1"}).modules());
}

TEST(Uevents, TellOfModulesAndWhichHaveGone) {
  using namespace std::string_view_literals;
  const auto changes =
      told_by({"add@/module/nbd\0ACTION=add"sv, "remove@/module/nbd\0ACTION=remove"sv,
               "add@/module/nbd\0ACTION=add"sv, "add@/module/loop\0ACTION=add"sv});
  EXPECT_TRUE(changes.modules_came);
  EXPECT_EQ(changes.modules_gone, std::set<std::string>{"nbd"});
  EXPECT_FALSE(changes.unknown_modules_gone);
  EXPECT_TRUE(told_by({"remove@/module/nbd"}).modules());
  EXPECT_FALSE(told_by({"remove@/module/nbd"}).modules_came);
}

TEST(Uevents, OfOtherThingsSayNothing) {
  EXPECT_EQ(told_by({"add@/devices/virtual/block/nbd0", "change@/module/nbd", "libudev", "",
                     "add@/devices/system/cpu/cpu1"}),
            KernelChanges{});
}

}  // namespace
}  // namespace ktraced
