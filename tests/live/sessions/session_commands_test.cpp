// SPDX-License-Identifier: BSD-2-Clause
// `ktracectl session`, and the commands with --session.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "harness/client/stream.h"
#include "harness/traces/numbers.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class SessionCommands : public testing::Test {
 protected:
  json session(const std::string& name) {
    return json::parse(daemon_.ctl_ok({"--json", "session", "show", name}));
  }
  Daemon daemon_{json{{"events", numbered_calls()}, {"flight", {{"enabled", true}}}}};
  // By the session "mine".
  const std::function<uint64_t()> recorded = [this] {
    return session("mine")["totals"]["recorded"].get<uint64_t>();
  };
};

TEST_F(SessionCommands, ListAllWithOwnersAndCounts) {
  WaitingTruth truth({"numbered", "300"});
  Stream stream(daemon_, {"--name", "mine", "--event", "sys_enter", "--buffer-kb", "256", "--pid",
                          std::to_string(truth.pid())});
  truth.act();
  const std::string text = daemon_.ctl_ok({"session", "list"});
  EXPECT_THAT(text, HasSubstr("recorder  recording  ktraced"));
  EXPECT_THAT(text, HasSubstr(fmt::format("mine      recording  pid {} (uid 0)", stream.pid())));
  EXPECT_THAT(text, HasSubstr(fmt::format("sys_enter             pid={}", truth.pid())));
  EXPECT_THAT(daemon_.ctl_ok({"status"}), HasSubstr("mine      recording"));
  const json list = json::parse(daemon_.ctl_ok({"--json", "session", "list"}))["sessions"];
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[1]["ring_bytes"], 256 << 10);

  EXPECT_TRUE(reaches(recorded, 300));
  EXPECT_EQ(session("mine")["counts"]["sys_enter"]["recorded"], 300);
  const std::string shown = daemon_.ctl_ok({"session", "show", "mine"});
  EXPECT_THAT(shown, AllOf(HasSubstr("session mine: recording"), HasSubstr("events: sys_enter\n"),
                           HasSubstr("sys_enter  on "), HasSubstr("256 KiB")));
  EXPECT_EQ(stream.finish().events("sys_enter").size(), 300U);
  EXPECT_THAT(daemon_.ctl_ok({"session"}), Not(HasSubstr("mine")));
  const Finished ended = daemon_.ctl({"session", "show", "mine"});
  EXPECT_EQ(ended.exit_code, 64);
  EXPECT_THAT(ended.err, HasSubstr("there is no session 'mine'"));
}

TEST_F(SessionCommands, ChangeTheFilterOfOneSession) {
  WaitingTruth rejected({"numbered", "100"}), accepted({"numbered", "200"});
  Stream stream(daemon_, {"--name", "mine"});
  daemon_.ctl_ok({"filter", "set", fmt::format("pid={}", accepted.pid()), "--session", "mine"});
  EXPECT_EQ(daemon_.ctl_ok({"filter", "show", "--session", "mine"}),
            fmt::format("pid={}\nsyscall=getpriority\n", accepted.pid()));
  EXPECT_EQ(daemon_.ctl_ok({"filter", "show"}), "syscall=getpriority\n");
  EXPECT_EQ(daemon_.ctl({"filter", "set", "pid=1", "--session", "nobody"}).exit_code, 64);
  rejected.act();
  accepted.act();
  const Trace trace = stream.finish();
  EXPECT_TRUE(call_numbers(trace, rejected.pid()).empty());
  EXPECT_EQ(call_numbers(trace, accepted.pid()), from_to(1, 200));
}

TEST_F(SessionCommands, ChangeTheEventsOfOneSession) {
  WaitingTruth truth({"numbered", "50"});
  Stream stream(daemon_,
                {"--name", "mine", "--event", "sys_enter", "--pid", std::to_string(truth.pid())});
  daemon_.ctl_ok({"events", "enable", "sys_exit", "--session", "mine"});
  daemon_.ctl_ok({"events", "disable", "sys_enter", "--session", "mine"});
  EXPECT_EQ(session("mine")["events"], json::array({"sys_exit"}));
  EXPECT_EQ(session("recorder")["events"], json::array({"sys_enter", "sys_exit"}));
  truth.act();
  const Trace trace = stream.finish();
  EXPECT_TRUE(trace.events("sys_enter", truth.pid()).empty());
  EXPECT_EQ(trace.events("sys_exit", truth.pid()).size(), 50U);
}

TEST_F(SessionCommands, PauseAndResetOneSession) {
  WaitingTruth before({"numbered", "100"}), paused({"numbered", "200"}), after({"numbered", "300"});
  Command options = only_of({before.pid(), paused.pid(), after.pid()});
  options.insert(options.end(), {"--name", "mine", "--event", "sys_enter"});
  Stream stream(daemon_, options);
  before.act();
  EXPECT_EQ(daemon_.ctl_ok({"pause", "--session", "mine"}), "paused\n");
  EXPECT_EQ(session("mine")["state"], "paused");
  EXPECT_EQ(session("recorder")["state"], "recording");
  paused.act();
  daemon_.ctl_ok({"reset", "--session", "mine"});
  EXPECT_EQ(session("mine")["totals"]["recorded"], 0);
  EXPECT_EQ(daemon_.ctl_ok({"resume", "--session", "mine"}), "running\n");
  after.act();
  EXPECT_TRUE(reaches(recorded, 300));
  const Trace trace = stream.finish();
  EXPECT_TRUE(call_numbers(trace, paused.pid()).empty());
  EXPECT_EQ(call_numbers(trace, after.pid()), from_to(1, 300));
  EXPECT_GE(session("recorder")["counts"]["sys_enter"]["recorded"], 600);
}

}  // namespace
}  // namespace ktraced::live
