// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/sessions/session_hits.h"

#include <gtest/gtest.h>

#include <random>

namespace ktraced {
namespace {

constexpr uint16_t kEvent = 7;
constexpr uint32_t kCpus = 2;
constexpr uint32_t kRecorderBit = 1U << SESSION_RECORDER;
constexpr uint32_t kClient = SESSION_CLIENT_FIRST;
constexpr uint32_t kOther = SESSION_CLIENT_FIRST + 1;

// The kernel's side: programs that load a word, and later count their hits.
class SessionHitsTest : public testing::Test {
 protected:
  struct Running {
    uint32_t cpu, way;
  };
  // A program that has loaded the word of the event and has not counted yet.
  void begin(uint32_t cpu) {
    if ((ways[kEvent] & WAY_DIRECT) == 0) running.push_back({cpu, ways[kEvent]});
  }
  void finish_all() {
    for (const auto& [cpu, way] : running) {
      ++counters[cpu][(way & WAY_COUNTER) >> WAY_COUNTER_SHIFT];
      for (uint32_t session = 0; session < SESSIONS_MAX; ++session)
        if ((way >> session & 1) != 0) ++expected[session][cpu];
      if ((way & WAY_SESSIONS) == 0) ++ignored[cpu];
    }
    running.clear();
  }
  void hit(uint32_t cpu) {
    begin(cpu);
    finish_all();
  }
  void change(uint32_t sessions, bool direct = false) {
    const std::array target{
        SessionHits::Target{.event = kEvent, .sessions = sessions, .direct = direct}};
    hits.change(target);
  }
  void expect_exact(const std::string& when) {
    for (uint32_t session = 0; session < SESSIONS_MAX; ++session)
      for (uint32_t cpu = 0; cpu < kCpus; ++cpu)
        EXPECT_EQ(hits.seen(session, cpu, kEvent), expected[session][cpu])
            << when << ": session " << session << ", CPU " << cpu;
    for (uint32_t cpu = 0; cpu < kCpus; ++cpu)
      EXPECT_EQ(hits.ignored(cpu, kEvent), ignored[cpu]) << when << ": CPU " << cpu;
  }

  std::array<u16, EVENT_ID_MAX> ways{};
  std::array<std::array<uint64_t, WAY_COUNTERS>, kCpus> counters{};
  std::array<std::array<uint64_t, kCpus>, SESSIONS_MAX> expected{};
  std::array<uint64_t, kCpus> ignored{};
  std::vector<Running> running;
  int waits = 0;
  SessionHits::Kernel kernel{
      .ways = ways,
      .cpus = kCpus,
      .count = [this](uint32_t cpu, uint32_t counter, uint16_t event) -> uint64_t {
        return event == kEvent ? counters[cpu][counter] : 0;
      },
      .wait =
          [this] {
            ++waits;
            finish_all();
          }};
  SessionHits hits{kernel};
};

TEST_F(SessionHitsTest, CountsTheHitsOfEachSessionWhileItHasTheEvent) {
  hit(0);
  change(1U << kClient);
  hit(0);
  hit(1);
  change(1U << kClient | 1U << kOther);
  hit(1);
  change(1U << kOther);
  hit(0);
  change(0);
  hit(0);
  expect_exact("at the end");
  EXPECT_EQ(hits.seen(kClient, 0, kEvent), 1U);
  EXPECT_EQ(hits.seen(kClient, 1, kEvent), 2U);
  EXPECT_EQ(hits.seen(kOther, 0, kEvent) + hits.seen(kOther, 1, kEvent), 2U);
}

TEST_F(SessionHitsTest, AHitCountsForTheSessionsOfTheWordThatItLoaded) {
  change(1U << kClient);
  begin(0);
  change(1U << kOther);  // waits only for programs before the last change
  begin(1);
  finish_all();
  expect_exact("after both");
}

TEST_F(SessionHitsTest, StoresDirectlyOnlyForTheRecorderAlone) {
  change(kRecorderBit, true);
  EXPECT_NE(ways[kEvent] & WAY_DIRECT, 0);
  change(kRecorderBit | 1U << kClient, true);
  EXPECT_EQ(ways[kEvent] & WAY_DIRECT, 0);
  change(kRecorderBit, false);
  EXPECT_EQ(ways[kEvent] & WAY_DIRECT, 0);
  change(0, true);
  EXPECT_EQ(ways[kEvent] & (WAY_DIRECT | WAY_SESSIONS), 0);
}

TEST_F(SessionHitsTest, WaitsOnlyIfSessionsChange) {
  change(kRecorderBit, true);
  const int before = waits;
  change(kRecorderBit, false);
  change(kRecorderBit, true);
  EXPECT_EQ(waits, before);
  change(0);
  EXPECT_EQ(waits, before + 1);
}

TEST_F(SessionHitsTest, ClearsASessionWhoseNumberIsUsedAgain) {
  change(1U << kClient);
  hit(0);
  hits.drop(kClient);
  expect_exact("after it was dropped");
  hits.clear(kClient);
  EXPECT_EQ(hits.seen(kClient, 0, kEvent), 0U);
  change(1U << kClient);
  hit(0);
  EXPECT_EQ(hits.seen(kClient, 0, kEvent), 1U);
}

TEST_F(SessionHitsTest, ContinuesTheRecorderOfAnEarlierDaemon) {
  change(kRecorderBit | 1U << kClient);
  hit(0);
  SessionHits next{kernel};
  EXPECT_EQ(next.seen(SESSION_RECORDER, 0, kEvent), 1U);
  EXPECT_EQ(next.seen(kClient, 0, kEvent), 0U) << "its session ended with that daemon";
  next.drop(kClient);
  hit(0);
  EXPECT_EQ(next.seen(SESSION_RECORDER, 0, kEvent), 2U);
}

TEST_F(SessionHitsTest, IsExactWhateverHappens) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    for (int step = 0; step < 200; ++step) switch (random() % 4) {
        case 0:
          change(random() % (1U << SESSIONS_MAX), random() % 2 == 0);
          break;
        case 1:
          begin(random() % kCpus);
          break;
        case 2:
          finish_all();
          break;
        default:
          hit(random() % kCpus);
      }
    finish_all();
    expect_exact("seed " + std::to_string(seed));
  }
}

}  // namespace
}  // namespace ktraced
