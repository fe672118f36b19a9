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
    bool stored;  // directly
  };
  // A program that has loaded the word of the event and has not counted yet. It may be unable to
  // store the hit directly.
  void begin(uint32_t cpu, bool can_store = true) {
    const uint32_t way = ways[kEvent];
    if ((way & WAY_DIRECT) != 0 && can_store) return;
    running.push_back({cpu, way, (way & WAY_BESIDE) != 0 && can_store});
  }
  void finish_all() {
    for (const auto& [cpu, way, stored] : running) {
      const uint32_t counter = (way & WAY_COUNTER) >> WAY_COUNTER_SHIFT;
      ++counters[cpu][counter];
      if ((way & WAY_BESIDE) != 0 && !stored) ++counters[cpu].at(counter + WAY_COUNTERS / 2);
      for (uint32_t session = 0; session < SESSIONS_MAX; ++session)
        if ((way >> session & 1) != 0 && !(session == SESSION_RECORDER && stored))
          ++expected[session][cpu];
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

  std::array<u32, EVENT_ID_MAX> ways{};
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

TEST_F(SessionHitsTest, StoresDirectlyForTheRecorderAloneOrBesideOtherSessions) {
  constexpr uint32_t kDirect = WAY_DIRECT | WAY_BESIDE;
  change(kRecorderBit, true);
  EXPECT_EQ(ways[kEvent] & kDirect, uint32_t{WAY_DIRECT});
  change(kRecorderBit | 1U << kClient, true);
  EXPECT_EQ(ways[kEvent] & kDirect, uint32_t{WAY_BESIDE});
  change(kRecorderBit | 1U << kClient, false);
  EXPECT_EQ(ways[kEvent] & kDirect, 0U);
  change(kRecorderBit, false);
  EXPECT_EQ(ways[kEvent] & kDirect, 0U);
  change(1U << kClient, true);
  EXPECT_EQ(ways[kEvent] & kDirect, 0U) << "the recorder has the event off";
  change(0, true);
  EXPECT_EQ(ways[kEvent] & (kDirect | WAY_SESSIONS), 0U);
}

TEST_F(SessionHitsTest, StoresNothingDirectlyBesideOthersWhereProgramsArePreempted) {
  kernel.beside = false;
  SessionHits preempted{kernel};
  const auto bits_of = [&](uint32_t sessions) {
    preempted.change(
        std::array{SessionHits::Target{.event = kEvent, .sessions = sessions, .direct = true}});
    return ways[kEvent] & (WAY_DIRECT | WAY_BESIDE);
  };
  EXPECT_EQ(bits_of(kRecorderBit), uint32_t{WAY_DIRECT});
  EXPECT_EQ(bits_of(kRecorderBit | 1U << kClient), 0U);
}

TEST_F(SessionHitsTest, CountsForTheRecorderWhatItCouldNotStoreBesideOthers) {
  change(kRecorderBit | 1U << kClient, true);
  hit(0);
  begin(0, false);
  change(kRecorderBit | 1U << kClient, false);  // its filter is set meanwhile
  hit(0);
  change(kRecorderBit | 1U << kClient, true);
  begin(1, false);
  finish_all();
  expect_exact("at the end");
  EXPECT_EQ(hits.seen(SESSION_RECORDER, 0, kEvent), 2U);
  EXPECT_EQ(hits.seen(kClient, 0, kEvent), 3U);
}

TEST_F(SessionHitsTest, WaitsOnlyIfCountersChange) {
  change(kRecorderBit, true);
  const int before = waits;
  change(kRecorderBit, false);
  change(kRecorderBit, true);
  EXPECT_EQ(waits, before);
  change(0);
  EXPECT_EQ(waits, before + 1);
  change(kRecorderBit | 1U << kClient, true);
  change(kRecorderBit | 1U << kClient, false);
  EXPECT_EQ(waits, before + 3);
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
          begin(random() % kCpus, random() % 2 == 0);
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
