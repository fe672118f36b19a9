// SPDX-License-Identifier: BSD-2-Clause
// What this kernel lacks: the daemon reports the reason and disables nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "harness/client/daemon.h"
#include "harness/disks/private_mounts.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;

const std::string kReason = "this kernel has no tracepoint kmalloc";

// This kernel's BTF, with the tracepoint kmalloc renamed.
std::string btf_without_kmalloc() {
  std::ifstream file("/sys/kernel/btf/vmlinux", std::ios::binary);
  std::string btf(std::istreambuf_iterator<char>(file), {});
  const std::string name("\0btf_trace_kmalloc\0", 19);
  const size_t place = btf.find(name);
  if (place == std::string::npos) throw std::runtime_error("this kernel's BTF has no kmalloc");
  btf[place + name.size() - 2] = 'X';
  return btf;
}

class UnavailableEvent : public testing::Test {
 protected:
  // Runs a command that sees the file instead of the kernel's BTF; other processes do not.
  Command wrapper() const {
    Command command =
        with_private_sys("mount --bind \"$0\" /sys/kernel/btf/vmlinux && exec \"$@\"");
    command.push_back(btf_);
    return command;
  }

 private:
  TempDir directory_;
  std::string btf_ = directory_.file("vmlinux", btf_without_kmalloc());
};

TEST_F(UnavailableEvent, IsReportedWithTheReasonAndDisablesNothingElse) {
  Daemon daemon({{"events", {{"kmem", true}, {"process", true}}}, {"flight", {{"enabled", true}}}},
                wrapper());
  const json events = daemon.call("status")["events"];
  EXPECT_EQ(events["kmalloc"]["available"], false);
  EXPECT_EQ(events["kmalloc"]["enabled"], false);
  EXPECT_EQ(events["kmalloc"]["reason"], kReason);
  for (const auto& [name, event] : events.items()) {
    EXPECT_EQ(event["available"], name != "kmalloc") << name;
  }
  for (const char* name : {"kfree", "kmem_cache_alloc", "mm_page_free", "sched_process_exec"})
    EXPECT_EQ(events[name]["enabled"], true) << name;
  run({"true"});
  EXPECT_GT(daemon.event_status("sched_process_exec")["recorded"].get<uint64_t>(), 0U);
  EXPECT_THAT(daemon.ctl_ok({"status"}), HasSubstr(kReason));
  EXPECT_THAT(daemon.ctl_ok({"events", "list"}), HasSubstr(kReason));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

TEST_F(UnavailableEvent, IsSkippedInItsGroupAndRefusedOrWarnedOfByName) {
  Daemon daemon({{"events", {{"kmem", {"kmalloc", "kfree"}}}}}, wrapper());
  EXPECT_EQ(daemon.event_status("kfree")["enabled"], true);
  EXPECT_TRUE(daemon.logged(kReason));
  daemon.disable({"kfree"});
  const Finished refused = daemon.ctl({"events", "enable", "kfree", "kmalloc"});
  EXPECT_EQ(refused.exit_code, 69);
  EXPECT_THAT(refused.err, HasSubstr(kReason));
  EXPECT_EQ(daemon.event_status("kfree")["enabled"], false);
  daemon.enable({"kmem"});
  EXPECT_EQ(daemon.event_status("kfree")["enabled"], true);
  EXPECT_EQ(daemon.event_status("kmalloc")["enabled"], false);
}

// A directory cannot be read as a file.
TEST(UnknownNodes, AreReportedWithTheReason) {
  Daemon daemon({{"events", {{"kmem", {"kmalloc"}}}}},
                with_private_sys("mount -t tmpfs tmpfs /sys/devices/system/node && "
                                 "mkdir /sys/devices/system/node/possible && exec \"$0\" \"$@\""));
  const json unknown = daemon.call("status")["unknown"];
  const auto nodes = std::ranges::find_if(
      unknown, [](const json& each) { return each["what"] == "NUMA nodes of memory"; });
  ASSERT_NE(nodes, unknown.end()) << unknown;
  const std::string reason = (*nodes)["reason"];
  EXPECT_THAT(reason, HasSubstr("/sys/devices/system/node/possible"));
  EXPECT_THAT(daemon.ctl_ok({"status"}),
              HasSubstr("not available: NUMA nodes of memory (" + reason + ")\n"));
  EXPECT_TRUE(daemon.logged("NUMA nodes of memory are unknown: " + reason));
  EXPECT_EQ(daemon.event_status("kmalloc")["enabled"], true);
}

}  // namespace
}  // namespace ktraced::live
