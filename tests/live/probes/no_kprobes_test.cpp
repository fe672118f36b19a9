// SPDX-License-Identifier: BSD-2-Clause
// A kernel without kprobes traces everything else, and gives the reason for each probe.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/client/stream.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;

TEST(NoKprobes, ListsEachProbeWithTheReasonAndTracesOtherEvents) {
  const json config = {{"events", {{"syscalls", true}}},
                       {"probes", {"p:open do_sys_openat2 path=+0($arg2):ustring", "r vfs_read"}}};
  Daemon daemon(config);
  const json list = daemon.call("probe.list");
  ASSERT_EQ(list["probes"].size(), 2U);
  for (const json& probe : list["probes"]) {
    EXPECT_EQ(probe["available"], false);
    EXPECT_THAT(probe["reason"].get<std::string>(), HasSubstr("CONFIG_KPROBES"));
  }
  EXPECT_THAT(daemon.ctl_ok({"probe"}), HasSubstr("# not available: this kernel has no kprobes"));
  WaitingTruth truth({"syscalls"});
  daemon.set_filter({{"pid", {truth.pid()}}});
  Stream stream(daemon);
  truth.act();
  EXPECT_FALSE(stream.finish().events("sys_enter", truth.pid()).empty());
}

TEST(NoKprobes, AddingOneFailsWithTheReason) {
  Daemon daemon;
  const Finished added = daemon.ctl({"probe", "add", "p vfs_read"});
  EXPECT_EQ(added.exit_code, 69);
  EXPECT_THAT(added.err, HasSubstr("this kernel has no kprobes"));
  const Finished wrong = daemon.ctl({"probe", "add", "p vfs_read %rax"});
  EXPECT_EQ(wrong.exit_code, 64);
  EXPECT_THAT(wrong.err, HasSubstr("column 12"));
}

}  // namespace
}  // namespace ktraced::live
