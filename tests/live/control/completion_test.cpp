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

TEST(Completion, OffersWhatTheRunningDaemonHas) {
  Daemon daemon(flight_config());
  daemon.ctl_ok({"snapshot", "take", "slow"});
  EXPECT_THAT(completed(daemon, {"events", "enable", ""}),
              IsSupersetOf({"kmalloc", "kmem", "sched_switch"}));
  EXPECT_THAT(completed(daemon, {"events", "enable", "irq:soft"}), Contains("irq:softirq_entry"));
  EXPECT_THAT(completed(daemon, {"snapshot", "keep", ""}), ElementsAre("slow"));
  EXPECT_THAT(completed(daemon, {"session", "show", ""}), ElementsAre("recorder"));
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_THAT(completed(daemon, {"session", "show", ""}), IsEmpty());
}

}  // namespace
}  // namespace ktraced::live
