// SPDX-License-Identifier: BSD-2-Clause
// Clients and daemons in a time namespace, in which the time since boot is another.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/clock.h"
#include "harness/client/daemon.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;

// The command in a time namespace that was booted a million seconds earlier.
Command in_time_namespace(const Command& command) {
  Command words = {"unshare", "--time", "--boottime", "1000000", "--fork", "--kill-child", "--"};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

class TimeNamespace : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists("/proc/self/ns/time"))
      GTEST_SKIP() << "this kernel has no time namespaces";
  }
};

TEST_F(TimeNamespace, DaemonInItDoesNotStart) {
  Daemon daemon;
  EXPECT_EQ(daemon.stop().exit_code, 0);
  const Finished refused =
      run(in_time_namespace({kDaemonProgram, "--config", daemon.config_file()}));
  EXPECT_EQ(refused.exit_code, 69) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("run it in the time namespace of the host"));
}

TEST_F(TimeNamespace, ClientInItComparesTimesWithThoseOfEvents) {
  Daemon daemon;
  const std::string until = fmt::format("{}.0", boottime_ns() / 1'000'000'000 + 100'000);
  const Finished streamed = run(in_time_namespace(
      daemon.ctl_command({"stream", "--event", "sched_switch", "--count", "1", "--until", until})));
  EXPECT_EQ(streamed.exit_code, 0) << streamed.err;
}

}  // namespace
}  // namespace ktraced::live
