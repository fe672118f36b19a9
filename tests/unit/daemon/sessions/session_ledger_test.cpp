// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/sessions/session_ledger.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace ktraced {
namespace {

constexpr uint16_t kEvent = 7, kOtherEvent = 300;
constexpr uint32_t kCpus = 2;
constexpr uint32_t kRecorderBit = 1U << SESSION_RECORDER, kOutputBit = 1U << SESSION_OUTPUT;
constexpr uint32_t kClient = SESSION_CLIENT_FIRST, kOther = SESSION_CLIENT_FIRST + 1;

// The kernel's side: programs that load a word, and later count their hits; and hits that the
// kernel misses.
class SessionLedgerTest : public testing::Test {
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
  void change(uint32_t sessions, bool direct = false, uint16_t event = kEvent) {
    ledger.change(
        std::array{SessionLedger::Target{.event = event, .sessions = sessions, .direct = direct}});
  }
  // The kernel misses hits of the event, outside of changes.
  void miss(uint64_t more, uint16_t event = kEvent) {
    missed[event] += more;
    for (uint32_t session = 0; session < SESSIONS_MAX; ++session)
      if ((ways[event] >> session & 1) != 0) expected_missed[event][session] += more;
  }
  void expect_exact(const std::string& when) {
    for (uint32_t session = 0; session < SESSIONS_MAX; ++session)
      for (uint32_t cpu = 0; cpu < kCpus; ++cpu)
        EXPECT_EQ(ledger.hits(session, cpu, kEvent), expected[session][cpu])
            << when << ": session " << session << ", CPU " << cpu;
    for (uint32_t cpu = 0; cpu < kCpus; ++cpu)
      EXPECT_EQ(ledger.ignored(cpu, kEvent), ignored[cpu]) << when << ": CPU " << cpu;
    for (const uint16_t event : {kEvent, kOtherEvent})
      for (uint32_t session = 0; session < SESSIONS_MAX; ++session)
        EXPECT_EQ(ledger.missed(session, event), expected_missed[event][session])
            << when << ": session " << session << ", event " << event;
  }

  std::array<u32, EVENT_ID_MAX> ways{};
  std::array<std::array<uint64_t, WAY_COUNTERS>, kCpus> counters{};
  std::array<std::array<uint64_t, kCpus>, SESSIONS_MAX> expected{};
  std::array<uint64_t, kCpus> ignored{};
  std::vector<Running> running;
  std::array<uint64_t, EVENT_ID_MAX> missed{};
  std::map<uint16_t, std::array<uint64_t, SESSIONS_MAX>> expected_missed;
  int waits = 0;
  std::function<void()> during_wait = [] {};
  SessionLedger::Kernel kernel{
      .ways = ways,
      .cpus = kCpus,
      .hits = [this](uint32_t cpu, uint32_t counter, uint16_t event) -> uint64_t {
        return event == kEvent ? counters[cpu][counter] : 0;
      },
      .missed = [this](uint16_t event) { return missed[event]; },
      .wait =
          [this] {
            ++waits;
            during_wait();
            finish_all();
          }};
  std::vector<SessionMissesEntry> misses{size_t{SESSIONS_MAX} * EVENT_ID_MAX};
  SessionLedger ledger{kernel, misses};
};

TEST_F(SessionLedgerTest, CountsForEachSessionWhileItHasTheEvent) {
  hit(0);
  miss(100);
  change(1U << kClient);
  hit(0);
  hit(1);
  miss(1);
  change(1U << kClient | 1U << kOther);
  hit(1);
  miss(10);
  change(1U << kOther);
  hit(0);
  miss(100);
  change(0);
  hit(0);
  miss(1000);
  expect_exact("at the end");
  EXPECT_EQ(ledger.hits(kClient, 0, kEvent), 1U);
  EXPECT_EQ(ledger.hits(kClient, 1, kEvent), 2U);
  EXPECT_EQ(ledger.hits(kOther, 0, kEvent) + ledger.hits(kOther, 1, kEvent), 2U);
  EXPECT_EQ(ledger.missed(kClient, kEvent), 11U);
  EXPECT_EQ(ledger.missed(kOther, kEvent), 110U);
  EXPECT_EQ(ledger.missed(SESSION_OUTPUT, kEvent), 0U);
}

TEST_F(SessionLedgerTest, AHitCountsForTheSessionsOfTheWordThatItLoaded) {
  change(1U << kClient);
  begin(0);
  during_wait = [this] { begin(1); };
  change(1U << kOther);
  expect_exact("when the change is over");
  EXPECT_EQ(ledger.hits(kClient, 0, kEvent), 1U);
  EXPECT_EQ(ledger.hits(kOther, 1, kEvent), 1U) << "its program has loaded the new word";
}

TEST_F(SessionLedgerTest, StoresDirectlyForTheRecorderAloneOrBesideOtherSessions) {
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

TEST_F(SessionLedgerTest, StoresNothingDirectlyBesideOthersWhereProgramsArePreempted) {
  kernel.beside = false;
  SessionLedger preempted{kernel, misses};
  const auto bits_of = [&](uint32_t sessions) {
    preempted.change(
        std::array{SessionLedger::Target{.event = kEvent, .sessions = sessions, .direct = true}});
    return ways[kEvent] & (WAY_DIRECT | WAY_BESIDE);
  };
  EXPECT_EQ(bits_of(kRecorderBit), uint32_t{WAY_DIRECT});
  EXPECT_EQ(bits_of(kRecorderBit | 1U << kClient), 0U);
}

TEST_F(SessionLedgerTest, CountsForTheRecorderWhatItCouldNotStoreBesideOthers) {
  change(kRecorderBit | 1U << kClient, true);
  hit(0);
  begin(0, false);
  change(kRecorderBit | 1U << kClient, false);  // its filter is set meanwhile
  hit(0);
  change(kRecorderBit | 1U << kClient, true);
  begin(1, false);
  finish_all();
  expect_exact("at the end");
  EXPECT_EQ(ledger.hits(SESSION_RECORDER, 0, kEvent), 2U);
  EXPECT_EQ(ledger.hits(kClient, 0, kEvent), 3U);
}

TEST_F(SessionLedgerTest, WaitsOnlyIfCountersChange) {
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

TEST_F(SessionLedgerTest, DropsASessionFromAllEvents) {
  change(kRecorderBit | 1U << kClient);
  change(1U << kClient, false, kOtherEvent);
  ledger.drop(1U << kClient);
  EXPECT_EQ(ways[kEvent] & WAY_SESSIONS, kRecorderBit);
  EXPECT_EQ(ways[kOtherEvent] & WAY_SESSIONS, 0U);
  hit(0);
  miss(1);
  miss(1, kOtherEvent);
  expect_exact("after it was dropped");
}

// It misses a hit right before programs know that the event is on, or off.
TEST_F(SessionLedgerTest, CountsWhatIsMissedWhileProgramsAreChanged) {
  bool changing = false;
  kernel.hits = [&](uint32_t, uint32_t, uint16_t) -> uint64_t {
    if (std::exchange(changing, false)) ++missed[kEvent];
    return 0;
  };
  SessionLedger changed{kernel, misses};
  for (const uint32_t sessions : {kRecorderBit, kOutputBit, 0U}) {
    changing = true;
    changed.change(
        std::array{SessionLedger::Target{.event = kEvent, .sessions = sessions, .direct = false}});
  }
  EXPECT_EQ(changed.missed(SESSION_RECORDER, kEvent), 2U);
  EXPECT_EQ(changed.missed(SESSION_OUTPUT, kEvent), 2U);
}

// It is killed at each reading of a change, and at each the kernel misses a hit.
TEST_F(SessionLedgerTest, AKilledDaemonLosesNoMisses) {
  struct Left {
    std::vector<SessionMissesEntry> misses;
    std::array<u32, EVENT_ID_MAX> ways;
    uint64_t missed, expected;
  };
  std::vector<Left> left;
  uint64_t expected_now = 0;
  const auto kill_here = [&] {
    ++missed[kEvent];
    if ((ways[kEvent] & kRecorderBit) != 0) ++expected_now;
    left.push_back({misses, ways, missed[kEvent], expected_now});
  };
  bool changing = false;
  kernel.hits = [&](uint32_t, uint32_t, uint16_t) -> uint64_t {
    if (changing) kill_here();
    return 0;
  };
  kernel.missed = [&](uint16_t event) {
    kill_here();
    return missed[event];
  };
  SessionLedger killed{kernel, misses};
  changing = true;
  for (const uint32_t sessions : {kRecorderBit, kRecorderBit | kOutputBit, kOutputBit, 0U})
    killed.change(
        std::array{SessionLedger::Target{.event = kEvent, .sessions = sessions, .direct = false}});
  EXPECT_GT(left.size(), 8U);
  EXPECT_GT(left.back().expected, 2U);
  for (Left& each : left) {
    ways = each.ways;
    kernel.hits = [](uint32_t, uint32_t, uint16_t) { return 0; };
    kernel.missed = [&](uint16_t) { return each.missed; };
    SessionLedger next{kernel, each.misses};
    EXPECT_GE(next.missed(SESSION_RECORDER, kEvent), each.expected);
    next.drop(kRecorderBit);
    EXPECT_GE(next.missed(SESSION_RECORDER, kEvent), each.expected);
  }
}

TEST_F(SessionLedgerTest, CountsAnEventAtAllItsPlaces) {
  constexpr uint16_t kStacked = STACK_PLACES + uint16_t{EVENT_sys_enter};
  kernel.hits = [](uint32_t, uint32_t, uint16_t place) -> uint64_t {
    return place == EVENT_sys_enter ? 3
           : place == CALL_ENTERED  ? 40
           : place == kStacked      ? 700
                                    : 5000;
  };
  SessionLedger calls{kernel, misses};
  EXPECT_EQ(calls.hits(SESSION_RECORDER, 0, EVENT_sys_enter), 2 * 743U) << "in two counters";
  for (const uint16_t place : {uint16_t{EVENT_sys_enter}, uint16_t{CALL_ENTERED}, kStacked})
    calls.change(
        std::array{SessionLedger::Target{.event = place, .sessions = kOutputBit, .direct = false}});
  missed[EVENT_sys_enter] = 3;
  missed[CALL_ENTERED] = 40;
  missed[kStacked] = 700;
  EXPECT_EQ(calls.missed(SESSION_OUTPUT, EVENT_sys_enter), 743U);
}

TEST_F(SessionLedgerTest, TheNextDaemonContinuesTheRecorderAndAllMisses) {
  change(kRecorderBit | kOutputBit | 1U << kClient);
  hit(0);
  miss(5);
  change(kRecorderBit | 1U << kClient);
  SessionLedger next{kernel, misses};
  miss(3);  // no matter when
  EXPECT_EQ(next.hits(SESSION_RECORDER, 0, kEvent), 1U);
  EXPECT_EQ(next.hits(kClient, 0, kEvent), 0U) << "its session ended with that daemon";
  EXPECT_EQ(next.missed(SESSION_RECORDER, kEvent), 8U);
  EXPECT_EQ(next.missed(SESSION_OUTPUT, kEvent), 5U);
  next.drop(1U << kClient);
  hit(0);
  EXPECT_EQ(next.hits(SESSION_RECORDER, 0, kEvent), 2U);
  next.drop(kRecorderBit);
  miss(7);
  EXPECT_EQ(next.missed(SESSION_RECORDER, kEvent), 8U);
}

TEST_F(SessionLedgerTest, WithoutMissesOfTheEarlierDaemonNoneIsLost) {
  missed[kEvent] = 5;
  missed[kOtherEvent] = 7;
  ways[kEvent] = kRecorderBit;
  ledger.adopt_without_misses();
  ++missed[kEvent];
  ++missed[kOtherEvent];
  EXPECT_EQ(ledger.missed(SESSION_RECORDER, kEvent), 6U);
  EXPECT_EQ(ledger.missed(SESSION_RECORDER, kOtherEvent), 7U);
  EXPECT_EQ(ledger.missed(kClient, kEvent), 0U);
  change(0);
  EXPECT_EQ(ledger.missed(SESSION_RECORDER, kEvent), 6U);
}

TEST_F(SessionLedgerTest, MissesNeverDecreaseIfAProgramsCountDoes) {
  change(kRecorderBit);
  missed[kEvent] = 9;
  change(0);
  change(kRecorderBit);
  missed[kEvent] = 4;
  EXPECT_EQ(ledger.missed(SESSION_RECORDER, kEvent), 9U);
}

TEST_F(SessionLedgerTest, IsExactWhateverHappens) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    for (int step = 0; step < 200; ++step) switch (random() % 6) {
        case 0:
          change(random() % (1U << SESSIONS_MAX), random() % 2 == 0);
          break;
        case 1:
          change(random() % (1U << SESSIONS_MAX), false, kOtherEvent);
          break;
        case 2:
          begin(random() % kCpus, random() % 2 == 0);
          break;
        case 3:
          finish_all();
          break;
        case 4:
          miss(random() % 5, random() % 2 == 0 ? kEvent : kOtherEvent);
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
