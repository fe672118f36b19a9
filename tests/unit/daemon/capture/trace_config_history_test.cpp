// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/trace_config_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ktraced {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

json config_of(json events, json filter, const char* state = "running") {
  return {{"events", std::move(events)}, {"filter", std::move(filter)}, {"state", state}};
}

TEST(DroppedSettings, AreEmptyWhenNothingDiffers) {
  const json config = config_of({"kfree"}, {{"comm", {"nginx"}}}, "paused");
  EXPECT_THAT(dropped_settings(config, config), IsEmpty());
}

TEST(DroppedSettings, NameTheFilterTheEventsAndThePause) {
  const json before = config_of({"kfree", "kmalloc"},
                                {{"comm", {"nginx"}},
                                 {"syscall", {"openat"}},
                                 {"pid", json::array()},
                                 {"exclude", {{"uid", json::array()}}}},
                                "paused");
  const json now =
      config_of({"kfree", "sched_switch"}, {{"comm", json::array()}, {"syscall", {"openat"}}});
  EXPECT_THAT(dropped_settings(before, now),
              ElementsAre(R"(its filter {"comm":["nginx"]})", "events it had enabled: kmalloc",
                          "events it had disabled: sched_switch", "its pause"));
}

TEST(DroppedSettings, AreFewLinesForManyEvents) {
  json events = json::array();
  for (int n = 100; n < 200; ++n) events.push_back("irq:event_" + std::to_string(n));
  const auto lines =
      dropped_settings(config_of(events, json::object()), config_of(json::array(), json::object()));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_LT(lines[0].size(), 500U);
  EXPECT_TRUE(lines[0].ends_with("irq:event_119 and 80 more")) << lines[0];
}

json numbered(int n) { return {{"n", n}}; }
// A config of about that many bytes.
json large(int n, size_t bytes) { return {{"n", n}, {"pad", std::string(bytes, 'x')}}; }

// What the next daemon finds, if this one ends now.
struct NextDaemon {
  explicit NextDaemon(const ConfigLog& left) : log(std::make_unique<ConfigLog>(left)) {}
  [[nodiscard]] const std::string& unknown_because() const { return history.known_since().reason; }

  std::unique_ptr<ConfigLog> log;
  TraceConfigHistory history{*log, true};
};

class TraceConfigHistoryTest : public testing::Test {
 protected:
  std::unique_ptr<ConfigLog> log = std::make_unique<ConfigLog>();
  TraceConfigHistory history{*log, false};
};

TEST_F(TraceConfigHistoryTest, KeepsChangesAlsoForTheNextDaemon) {
  const uint64_t first = history.note(numbered(1)).value();
  const uint64_t second = history.note(numbered(2)).value();
  EXPECT_FALSE(history.note(numbered(2))) << "it has not changed";
  json expected = numbered(1);
  expected["changes"] = json::array({json{{"ns", second}, {"config", numbered(2)}}});
  const NextDaemon next(*log);
  for (const auto* each : std::array<const TraceConfigHistory*, 2>{&history, &next.history}) {
    EXPECT_EQ(each->known_since().ns, 0U);
    EXPECT_EQ(*each->current(), numbered(2));
    EXPECT_EQ(each->since(0), expected);
    EXPECT_EQ(each->since(first), expected);
    EXPECT_EQ(each->since(second), numbered(2));
  }
}

TEST_F(TraceConfigHistoryTest, IsUnknownUpToTheFirstChangeIfNothingWasLogged) {
  NextDaemon next(*std::make_unique<ConfigLog>());
  EXPECT_THAT(next.unknown_because(), HasSubstr("did not log it"));
  EXPECT_EQ(next.history.current(), nullptr);
  const uint64_t first = next.history.note(numbered(1)).value();
  EXPECT_EQ(next.history.known_since().ns, first);
  EXPECT_EQ(NextDaemon(*next.log).history.known_since().ns, first);
}

TEST_F(TraceConfigHistoryTest, LogsTheNewestChangesAndReportsSinceWhenTheConfigIsKnown) {
  constexpr size_t kConfig = 100'000;
  std::vector<uint64_t> times;
  for (int n = 1; n <= 40; ++n) times.push_back(history.note(large(n, kConfig)).value());
  EXPECT_EQ(history.known_since().ns, 0U);
  EXPECT_EQ(history.since(0)["changes"].size(), 39U);
  const NextDaemon next(*log);
  const uint64_t known_since = next.history.known_since().ns;
  const auto logged = static_cast<size_t>(times.end() - std::ranges::find(times, known_since));
  EXPECT_GT(logged, 5U);
  EXPECT_LT(logged, 11U);
  EXPECT_EQ(*next.history.current(), large(40, kConfig));
  EXPECT_EQ(next.history.since(known_since)["changes"].size(), logged - 1);
  EXPECT_EQ(next.history.since(0)["changes"].size(), logged) << "what was before is unknown";
}

TEST_F(TraceConfigHistoryTest, EvictsTheOldestOfTooManyChanges) {
  constexpr int kMost = TraceConfigHistory::kMaxChanges;
  for (int n = 0; n < kMost; ++n) history.note(numbered(n));
  EXPECT_EQ(history.known_since().ns, 0U);
  history.note(numbered(kMost));
  const NextDaemon next(*log);
  EXPECT_EQ(history.known_since().reason, "only the last 1000 changes are kept");
  EXPECT_EQ(next.history.known_since().ns, history.known_since().ns);
  EXPECT_EQ(next.history.since(0), history.since(0));
}

TEST_F(TraceConfigHistoryTest, HasAGapInTheLogForAConfigThatDoesNotFit) {
  history.note(numbered(1));
  history.note(large(2, 1U << 20));
  EXPECT_NE(NextDaemon(*log).history.known_since().ns, 0U) << "the current config is not known";
  const uint64_t third = history.note(numbered(3)).value();
  const NextDaemon next(*log);
  EXPECT_EQ(next.history.known_since().ns, third);
  EXPECT_EQ(*next.history.current(), numbered(3));
  EXPECT_EQ(history.known_since().ns, 0U);
}

TEST_F(TraceConfigHistoryTest, IsWithoutAnEntryThatADaemonHadNotFinished) {
  history.note(numbered(1));
  const uint64_t head = log->head;
  history.note(numbered(2));
  log->head = head;  // it is stored last
  const NextDaemon next(*log);
  EXPECT_EQ(next.history.known_since().ns, 0U);
  EXPECT_EQ(*next.history.current(), numbered(1));
}

TEST_F(TraceConfigHistoryTest, IsUnknownIfADaemonEndedDuringAChange) {
  history.note(numbered(1));
  {
    const TraceConfigHistory::Change change(history);
    EXPECT_THAT(NextDaemon(*log).unknown_because(), HasSubstr("ended while it changed"));
    const TraceConfigHistory::Change nested(history);
    history.note(numbered(2));
    EXPECT_THAT(NextDaemon(*log).unknown_because(), HasSubstr("ended while it changed"));
  }
  EXPECT_EQ(NextDaemon(*log).history.known_since().ns, 0U);
}

TEST_F(TraceConfigHistoryTest, IsUnknownIfADaemonEndedDuringItsFirstChange) {
  NextDaemon next(*std::make_unique<ConfigLog>());
  const TraceConfigHistory::Change change(next.history);
  next.history.note(numbered(1));
  EXPECT_THAT(NextDaemon(*next.log).unknown_because(), HasSubstr("ended while it changed"));
}

TEST_F(TraceConfigHistoryTest, DetectsEveryFlippedBitOfAnEntry) {
  history.note(numbered(1));
  history.note(numbered(2));
  ASSERT_GT(log->head, 40U);
  for (size_t i = 0; i < log->head; ++i) {
    log->data.at(i) ^= std::byte{0x10};
    EXPECT_THAT(NextDaemon(*log).unknown_because(), HasSubstr("damaged")) << i;
    log->data.at(i) ^= std::byte{0x10};
  }
  EXPECT_EQ(NextDaemon(*log).history.known_since().ns, 0U);
}

// The head and tail may contain any bytes.
TEST_F(TraceConfigHistoryTest, ReadsNothingBeyondADamagedHead) {
  for (int n = 0; n < 20; ++n) history.note(large(n, 30'000));
  for (uint64_t* const position : {&log->head, &log->tail})
    for (std::byte& byte : std::as_writable_bytes(std::span(position, 1)))
      for (const unsigned char value : {0x01, 0x7f, 0xff}) {
        const std::byte before = std::exchange(byte, static_cast<std::byte>(value));
        EXPECT_EQ(NextDaemon(*log).history.known_since().ns == 0, byte == before);
        byte = before;
      }
  EXPECT_EQ(NextDaemon(*log).history.known_since().ns, 0U);
}

}  // namespace
}  // namespace ktraced
