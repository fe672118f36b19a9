// SPDX-License-Identifier: BSD-2-Clause
// signal_generate and signal_deliver.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/client/stream.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

void expect_generated(const Trace& trace, const json& expected) {
  auto events = trace.events("signal_generate", expected["pid"]);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(name_of(events.front(), "sig"), "SIGUSR1");
  std::erase_if(events, [](const json& event) { return number_of(event, "sig") == SIGCHLD; });
  ASSERT_EQ(events.size(), expected["generated"].size());
  for (size_t i = 0; i < events.size(); ++i) {
    const json& sent = expected["generated"][i];
    EXPECT_EQ(number_of(events[i], "sig"), sent["sig"]) << i;
    EXPECT_EQ(number_of(events[i], "code"), sent["code"]) << i;
    EXPECT_EQ(number_of(events[i], "pid"), sent["pid"]) << i;
    EXPECT_EQ(number_of(events[i], "group"), sent["group"].get<bool>()) << i;
    EXPECT_EQ(number_of(events[i], "result"), sent["result"]) << i;
    EXPECT_EQ(number_of(events[i], "error"), 0) << i;
  }
}

void expect_delivered(const Trace& trace, const json& expected) {
  auto events = trace.events("signal_deliver", expected["pid"]);
  ASSERT_EQ(events.size(), expected["delivered"].size());
  for (size_t i = 0; i < events.size(); ++i) {
    const json& got = expected["delivered"][i];
    EXPECT_EQ(number_of(events[i], "sig"), got["sig"]) << i;
    EXPECT_EQ(number_of(events[i], "code"), got["code"]) << i;
    EXPECT_EQ(number_of(events[i], "sa_handler"), got["handler"]) << i;
    EXPECT_EQ(number_of(events[i], "sa_flags"), got["flags"]) << i;
  }
}

TEST(Signals, HaveTheirCodeTargetAndResultAndTheirHandlerAndFlags) {
  WaitingTruth truth({"signal"});
  Daemon daemon(for_processes({truth.pid()}, {{"events", {{"signal", true}}}}));
  Stream stream(daemon);
  const json expected = truth.act();
  const Trace trace = stream.finish();
  EXPECT_EQ(trace.lost(), 0);
  expect_generated(trace, expected);
  expect_delivered(trace, expected);
}

TEST(SignalGenerate, IsRecordedInTheSenderAndForAKilledChild) {
  Daemon daemon({{"events", {{"signal", true}}}, {"filter", {{"follow", {::getpid()}}}}});
  Stream stream(daemon);
  json expected = run_truth({"fork", "0", "0"});
  Trace trace = stream.finish();
  for (const json& child : expected["children"]) {
    auto sent = trace.where([&](const json& event) {
      return event["event"] == "signal_generate" && event["pid"] == expected["pid"] &&
             number_of(event, "pid") == child["pid"];
    });
    ASSERT_EQ(sent.size(), 1U) << child;
    EXPECT_EQ(number_of(sent[0], "sig"), child["signal"]);
    // The child sends SIGCHLD, with the reason of its end as code.
    auto answered = trace.where([&](const json& event) {
      return event["event"] == "signal_generate" && number_of(event, "sig") == SIGCHLD &&
             event["pid"] == child["pid"];
    });
    ASSERT_EQ(answered.size(), 1U) << child;
    EXPECT_EQ(number_of(answered[0], "code"), CLD_KILLED);
  }
}

}  // namespace
}  // namespace ktraced::live
