// SPDX-License-Identifier: BSD-2-Clause
// `reset` and `filter clear` leave nothing behind, unless an option says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <stop_token>
#include <thread>

#include "harness/machine/held_thread.h"
#include "harness/traces/flight.h"
#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(Reset, EmptiesTheFlightRecorderAndReportsHowMuch) {
  WaitingTruth before({"numbered", "1000"}), more({"numbered", "1000"}), after({"numbered", "500"});
  Daemon daemon(flight_config_for({before.pid(), more.pid(), after.pid()}));
  before.act();
  EXPECT_THAT(daemon.ctl_ok({"reset"}), HasSubstr("of the flight recorder discarded"));
  more.act();
  EXPECT_GE(daemon.call("reset")["history_discarded"], 1000);
  EXPECT_LT(daemon.event_status("sys_enter")["recorded"], 1000);
  after.act();
  const json taken = daemon.call("snapshot.take");
  EXPECT_TRUE(complete_but_for_missed(taken)) << taken;
  const auto path = taken["path"].get<std::string>();
  EXPECT_THAT(numbers_in(path, before.pid()), IsEmpty());
  EXPECT_THAT(numbers_in(path, more.pid()), IsEmpty());
  EXPECT_EQ(numbers_in(path, after.pid()), from_to(1, 500));
}

// Makes system calls that are recorded, all the time.
class BusyThread {
 public:
  BusyThread()
      : thread_([](const std::stop_token& stop) {
          while (!stop.stop_requested()) ::getpriority(PRIO_PROCESS, 0);
        }) {}

 private:
  std::jthread thread_;
};

TEST(Reset, CountsWhatTheFlightRecorderHoldsWhileProgramsRecord) {
  Daemon daemon(flight_config_for({::getpid()}, {{"buffer_kb", 16384}}));
  const BusyThread busy;
  for (int round = 0; round < 5; ++round) {
    daemon.call("resume");
    daemon.call("reset");
    EXPECT_TRUE(eventually([&] { return daemon.call("status")["totals"]["recorded"] > 0; }));
    daemon.call("pause");
    const json taken = daemon.call("snapshot.take");
    const json totals = daemon.call("status")["totals"];
    ASSERT_EQ(totals["overwritten"], 0) << totals;
    EXPECT_GT(taken["records"], 0) << taken;
    EXPECT_EQ(totals["recorded"], taken["records"]) << totals << taken;
  }
}

TEST(Reset, CountsWhatIsOverwrittenSoonAfterIt) {
  Daemon daemon(flight_config({{"buffer_kb", 64}}));
  const BusyThread busy;
  for (int round = 0; round < 5; ++round) {
    WaitingTruth truth({"numbered", "10000"});
    daemon.set_filter({{"pid", {::getpid(), truth.pid()}}});
    daemon.call("resume");
    daemon.call("reset");
    truth.act();
    daemon.call("pause");
    const json totals = daemon.call("status")["totals"];
    const json taken = daemon.call("snapshot.take");
    EXPECT_GT(totals["overwritten"], 0) << totals;
    EXPECT_EQ(totals["recorded"],
              totals["overwritten"].get<uint64_t>() + taken["records"].get<uint64_t>())
        << totals << taken;
  }
}

TEST(Reset, KeepsTheHistoryWhenRequested) {
  WaitingTruth before({"numbered", "1000"});
  WaitingTruth after({"numbered", "500"});
  Daemon daemon(flight_config_for({before.pid(), after.pid()}));
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

TEST(Reset, ChangesNothingWithoutASpareBank) {
  WaitingTruth first({"numbered", "1000"}), second({"numbered", "1000"});
  Daemon daemon(flight_config_for({first.pid(), second.pid()}));
  first.act();
  HeldThread writer(daemon.pid(), "ktraced-writer");
  daemon.call("snapshot.take", {{"wait", false}});
  second.act();
  const json refused = daemon.call_error("reset");
  EXPECT_EQ(refused["data"]["exit_code"], 69);
  EXPECT_THAT(refused["message"].get<std::string>(), HasSubstr("--keep-history"));
  EXPECT_GE(daemon.event_status("sys_enter")["recorded"], 2000);
  daemon.call("reset", {{"keep_history", true}});
  EXPECT_LT(daemon.event_status("sys_enter")["recorded"], 1000);
}

TEST(FilterCommand, SetsShowsAndClearsTheKeysGivenOrAll) {
  Daemon daemon(json{{"events", numbered_calls()}});
  const auto shown = [&] {
    return json::parse(daemon.ctl_ok({"--json", "filter", "show"}))["filter"];
  };
  daemon.ctl_ok({"filter", "set", "pid=812,813", "comm=nginx*", "exclude.uid=12345"});
  EXPECT_EQ(shown()["pid"], json::array({812, 813}));
  EXPECT_EQ(shown()["comm"], json::array({"nginx*"}));
  EXPECT_EQ(shown()["exclude"]["uid"], json::array({12345}));
  daemon.ctl_ok({"filter", "set", "pid=5"});  // the other keys stay
  EXPECT_EQ(shown()["pid"], json::array({5}));
  EXPECT_EQ(shown()["comm"], json::array({"nginx*"}));
  EXPECT_EQ(daemon.ctl_ok({"filter", "clear", "comm", "pid"}),
            "syscall=getpriority\nexclude.uid=12345\n");
  daemon.ctl_ok({"filter", "clear", "exclude.uid", "syscall"});
  EXPECT_FALSE(shown().contains("syscall"));
  EXPECT_EQ(daemon.call_error("filter.clear", {{"keys", {"com"}}})["data"]["exit_code"], 64);

  daemon.ctl_ok({"filter", "set", "syscall=getpriority", "comm=nosuch", "exclude.uid=12345"});
  daemon.ctl_ok({"filter", "clear"});
  EXPECT_FALSE(shown().contains("syscall")) << shown();
  EXPECT_EQ(shown()["comm"], json::array());
  EXPECT_EQ(shown()["exclude"]["uid"], json::array());
  EXPECT_EQ(daemon.call("status")["filter"]["syscalls_only"], json::array());
}

}  // namespace
}  // namespace ktraced::live
