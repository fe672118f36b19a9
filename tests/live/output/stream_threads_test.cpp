// SPDX-License-Identifier: BSD-2-Clause
// The priority of the threads that read the rings and write to disk.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "harness/client/daemon.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// The scheduling policy of each thread of a process that is named like this.
std::map<std::string, int> policies(pid_t pid, const std::vector<std::string>& names) {
  std::map<std::string, int> policies;
  for (const auto& task : fs::directory_iterator(fmt::format("/proc/{}/task", pid))) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (std::ranges::find(names, name) != names.end())
      policies[name] = ::sched_getscheduler(std::stoi(task.path().filename()));
  }
  return policies;
}

class ThreadsOfTheStream : public testing::Test {
 protected:
  static void expect(Daemon& daemon, int policy) {
    EXPECT_EQ(
        policies(daemon.pid(), {"ktraced-drain", "ktraced-output", "ktraced"}),
        (std::map<std::string, int>{
            {"ktraced-drain", policy}, {"ktraced-output", policy}, {"ktraced", SCHED_OTHER}}));
    EXPECT_EQ(daemon.call("status")["stream"]["realtime"], policy == SCHED_RR);
  }
};

TEST_F(ThreadsOfTheStream, RunBeforeNormalProgramsAsConfigured) {
  Daemon daemon;
  expect(daemon, SCHED_RR);
  daemon.write_config({{"stream", {{"realtime", false}}}});
  EXPECT_THAT(daemon.ctl_ok({"reload"}), HasSubstr("stream"));
  expect(daemon, SCHED_OTHER);
  daemon.write_config({});
  daemon.ctl_ok({"reload"});
  expect(daemon, SCHED_RR);
}

TEST_F(ThreadsOfTheStream, RunLikeOthersWhereThatIsNotPermitted) {
  Daemon daemon({}, {"prlimit", "--rtprio=0:0", "setpriv", "--bounding-set", "-sys_nice"});
  expect(daemon, SCHED_OTHER);
  EXPECT_TRUE(daemon.logged("LimitRTPRIO=1"));
}

}  // namespace
}  // namespace ktraced::live
