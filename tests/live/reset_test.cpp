// SPDX-License-Identifier: BSD-2-Clause
// What `reset` and `filter clear` leave behind: nothing, unless they are asked to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/flight.h"
#include "harness/held_thread.h"
#include "harness/missed.h"
#include "harness/numbers.h"
#include "harness/trace_files.h"
#include "harness/truth.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(Reset, EmptiesTheFlightRecorder) {
  Daemon daemon(flight_config());
  WaitingTruth before({"numbered", "1000"});
  WaitingTruth after({"numbered", "500"});
  before.act();
  EXPECT_THAT(daemon.ctl_ok({"reset"}), HasSubstr("of the flight recorder discarded"));
  after.act();
  const json taken = daemon.call("snapshot.take");
  EXPECT_TRUE(complete_but_for_missed(taken)) << taken;
  const auto path = taken["path"].get<std::string>();
  EXPECT_THAT(numbers_in(path, before.pid()), IsEmpty());
  EXPECT_EQ(numbers_in(path, after.pid()), from_to(1, 500));
}

TEST(Reset, ReportsHowMuchOfTheHistoryItDiscards) {
  Daemon daemon(flight_config());
  daemon.disable({"sys_exit"});
  daemon.call("reset");
  run_truth({"numbered", "1000"});
  const json first = daemon.call("reset");
  EXPECT_GE(first["history_discarded"], 1000);
  EXPECT_LT(daemon.event_status("sys_enter")["recorded"], 1000);
}

TEST(Reset, KeepsTheHistoryWhenAskedTo) {
  Daemon daemon(flight_config());
  WaitingTruth before({"numbered", "1000"});
  WaitingTruth after({"numbered", "500"});
  before.act();
  daemon.ctl_ok({"reset", "--keep-history"});
  EXPECT_LT(daemon.event_status("sys_enter")["recorded"], 1000);
  after.act();
  const json taken = daemon.call("snapshot.take");
  EXPECT_TRUE(complete_but_for_missed(taken)) << taken;
  const auto path = taken["path"].get<std::string>();
  EXPECT_EQ(numbers_in(path, before.pid()), from_to(1, 1000));
  EXPECT_EQ(numbers_in(path, after.pid()), from_to(1, 500));
}

TEST(Reset, ChangesNothingWhileNoBankIsSpare) {
  Daemon daemon(flight_config());
  run_truth({"numbered", "1000"});
  HeldThread writer(daemon.pid(), "ktraced-writer");
  daemon.call("snapshot.take", {{"wait", false}});
  run_truth({"numbered", "1000"});
  const json refused = daemon.call_error("reset");
  EXPECT_EQ(refused["data"]["exit_code"], 69);
  EXPECT_THAT(refused["message"].get<std::string>(), HasSubstr("--keep-history"));
  EXPECT_GE(daemon.event_status("sys_enter")["recorded"], 2000);
  daemon.call("reset", {{"keep_history", true}});
  EXPECT_LT(daemon.event_status("sys_enter")["recorded"], 1000);
}

TEST(FilterClear, RemovesTheSelectionOfSystemCallsToo) {
  Daemon daemon(json{{"events", numbered_calls()}});
  daemon.set_filter({{"comm", {"nosuch"}}, {"exclude", {{"uid", {12345}}}}});
  daemon.ctl_ok({"filter", "clear"});
  const json filter = daemon.call("filter.show")["filter"];
  EXPECT_FALSE(filter.contains("syscall")) << filter;
  EXPECT_EQ(filter["comm"], json::array());
  EXPECT_EQ(filter["exclude"]["uid"], json::array());
  EXPECT_EQ(daemon.call("status")["filter"]["syscalls_only"], json::array());
}

TEST(FilterClear, RemovesOnlyTheKeysGiven) {
  Daemon daemon(json{{"events", numbered_calls()}});
  daemon.set_filter({{"comm", {"nosuch"}}, {"exclude", {{"uid", {12345}}}}});
  EXPECT_EQ(daemon.ctl_ok({"filter", "clear", "comm"}), "syscall=getpriority\nexclude.uid=12345\n");
  daemon.ctl_ok({"filter", "clear", "exclude.uid", "syscall"});
  EXPECT_FALSE(daemon.call("filter.show")["filter"].contains("syscall"));
  EXPECT_EQ(daemon.call_error("filter.clear", {{"keys", {"com"}}})["data"]["exit_code"], 64);
  EXPECT_EQ(daemon.ctl({"filter", "clear", "com"}).exit_code, 64);
}

}  // namespace
}  // namespace ktraced::live
