// SPDX-License-Identifier: BSD-2-Clause
// A machine on which tracefs is not mounted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/client/daemon.h"
#include "harness/disks/private_mounts.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;

constexpr std::string_view kMountCommand = "mount -t tracefs tracefs /sys/kernel/tracing";

size_t times_in(const std::string& text, std::string_view words) {
  size_t times = 0;
  for (size_t at = text.find(words); at != text.npos; at = text.find(words, at + 1)) ++times;
  return times;
}

TEST(NoTracefs, IsReportedOnceWithTheCommandThatMountsIt) {
  // Hides tracefs from one daemon.
  Daemon daemon(json::object(),
                with_private_sys("mount -t tmpfs tmpfs /sys/kernel/tracing && "
                                 "mount -t tmpfs tmpfs /sys/kernel/debug && exec \"$0\" \"$@\""));
  EXPECT_TRUE(daemon.logged("tracefs, which describes tracepoints, is not mounted"));
  const Finished refused = daemon.ctl({"events", "enable", "irq:irq_handler_entry"});
  EXPECT_EQ(refused.exit_code, 69);
  EXPECT_THAT(refused.err, HasSubstr(kMountCommand));
  daemon.enable({"process"});  // needs none
  EXPECT_EQ(daemon.event_status("sched_process_exec")["enabled"], true);
  daemon.call("reload");
  EXPECT_EQ(times_in(daemon.log(), "is not mounted"), 1U) << daemon.log();
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

}  // namespace
}  // namespace ktraced::live
