// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/runtime/uevent_watch.h"

#include <gtest/gtest.h>

namespace ktraced {
namespace {

KernelChanges truth_of(std::initializer_list<std::string_view> messages) {
  KernelChanges changes;
  for (const std::string_view message : messages) note_uevent(message, changes);
  return changes;
}

TEST(Uevents, ReportCpus) {
  EXPECT_TRUE(truth_of({"online@/devices/system/cpu/cpu1"}).cpus);
  EXPECT_TRUE(truth_of({"offline@/devices/system/cpu/cpu1"}).cpus);
  EXPECT_FALSE(truth_of({"online@/devices/system/cpu/cpu1"}).modules());
}

TEST(Uevents, ReportLoadedAndUnloadedModules) {
  using namespace std::string_view_literals;
  const auto changes =
      truth_of({"add@/module/nbd\0ACTION=add"sv, "remove@/module/nbd\0ACTION=remove"sv,
                "add@/module/nbd\0ACTION=add"sv, "add@/module/loop\0ACTION=add"sv});
  EXPECT_TRUE(changes.modules_came);
  EXPECT_EQ(changes.modules_gone, std::set<std::string>{"nbd"});
  EXPECT_FALSE(changes.unknown_modules_gone);
  EXPECT_TRUE(truth_of({"remove@/module/nbd"}).modules());
  EXPECT_FALSE(truth_of({"remove@/module/nbd"}).modules_came);
}

TEST(Uevents, IgnoreOtherDevices) {
  EXPECT_EQ(truth_of({"add@/devices/virtual/block/nbd0", "change@/module/nbd", "libudev", "",
                      "add@/devices/system/cpu/cpu1"}),
            KernelChanges{});
}

}  // namespace
}  // namespace ktraced
