// SPDX-License-Identifier: BSD-2-Clause
// What shells offer is what the daemon has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "harness/client/daemon.h"
#include "harness/traces/flight.h"

namespace ktraced::live {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;

// The words that are offered at the end of a command line.
std::vector<std::string> completed(const Daemon& daemon, const Command& words) {
  Command command = {kClientProgram, "complete", "--", "--socket", daemon.socket()};
  command.insert(command.end(), words.begin(), words.end());
  const Finished finished = run(command);
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.err, "");
  std::vector<std::string> offered;
  std::istringstream lines(finished.out);
  for (std::string line; std::getline(lines, line);)
    offered.push_back(line.substr(0, line.find('\t')));
  return offered;
}

// The client does not wait long for the daemon.
template <class Matcher>
void expect_offered(const Daemon& daemon, const Command& words, const Matcher& matcher) {
  std::vector<std::string> offered;
  EXPECT_TRUE(eventually([&] {
    return testing::Value(offered = completed(daemon, words), matcher);
  })) << testing::PrintToString(offered);
}

TEST(Completion, OffersWhatTheRunningDaemonHas) {
  Daemon daemon(flight_config());
  daemon.ctl_ok({"snapshot", "take", "slow"});
  expect_offered(daemon, {"events", "enable", ""},
                 IsSupersetOf({"kmalloc", "kmem", "sched_switch"}));
  expect_offered(daemon, {"events", "enable", "irq:soft"}, Contains("irq:softirq_entry"));
  expect_offered(daemon, {"snapshot", "keep", ""}, ElementsAre("slow"));
  expect_offered(daemon, {"session", "show", ""}, ElementsAre("recorder"));
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_THAT(completed(daemon, {"session", "show", ""}), IsEmpty());
}

}  // namespace
}  // namespace ktraced::live
