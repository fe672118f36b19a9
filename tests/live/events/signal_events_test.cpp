// SPDX-License-Identifier: BSD-2-Clause
// signal_generate and signal_deliver.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "harness/client/stream.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

class Signals : public testing::Test {
 protected:
  void SetUp() override {
    Daemon daemon(json{{"events", {{"signal", true}}}});
    WaitingTruth truth({"signal"});
    Stream stream(daemon);
    expected_ = truth.act();
    trace_ = stream.finish();
    ASSERT_EQ(trace_.lost(), 0);
  }

  json expected_;
  Trace trace_;
};

TEST_F(Signals, GenerateRecordsCodeTargetAndResult) {
  auto events = trace_.events("signal_generate", expected_["pid"]);
  std::erase_if(events, [](const json& event) { return number_of(event, "sig") == SIGCHLD; });
  ASSERT_EQ(events.size(), expected_["generated"].size());
  for (size_t i = 0; i < events.size(); ++i) {
    const json& sent = expected_["generated"][i];
    EXPECT_EQ(number_of(events[i], "sig"), sent["sig"]) << i;
    EXPECT_EQ(number_of(events[i], "code"), sent["code"]) << i;
    EXPECT_EQ(number_of(events[i], "pid"), sent["pid"]) << i;
    EXPECT_EQ(number_of(events[i], "group"), sent["group"].get<bool>()) << i;
    EXPECT_EQ(number_of(events[i], "result"), sent["result"]) << i;
    EXPECT_EQ(number_of(events[i], "error"), 0) << i;
  }
}

TEST_F(Signals, DeliverRecordsHandlerAndFlags) {
  auto events = trace_.events("signal_deliver", expected_["pid"]);
  ASSERT_EQ(events.size(), expected_["delivered"].size());
  for (size_t i = 0; i < events.size(); ++i) {
    const json& got = expected_["delivered"][i];
    EXPECT_EQ(number_of(events[i], "sig"), got["sig"]) << i;
    EXPECT_EQ(number_of(events[i], "code"), got["code"]) << i;
    EXPECT_EQ(number_of(events[i], "sa_handler"), got["handler"]) << i;
    EXPECT_EQ(number_of(events[i], "sa_flags"), got["flags"]) << i;
  }
}

TEST_F(Signals, AreShownByName) {
  auto events = trace_.events("signal_generate", expected_["pid"]);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(name_of(events.front(), "sig"), "SIGUSR1");
}

TEST(SignalGenerate, IsRecordedInTheSenderAndForAKilledChild) {
  Daemon daemon(json{{"events", {{"signal", true}}}});
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
