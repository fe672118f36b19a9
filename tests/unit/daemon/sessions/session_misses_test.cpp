// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/sessions/session_misses.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <random>
#include <vector>

namespace ktraced {
namespace {

constexpr uint16_t kMissed = 7, kMissedOther = 300;
constexpr uint32_t kRecorders = 1U << SESSION_RECORDER, kOutputs = 1U << SESSION_OUTPUT;
constexpr uint32_t kClientBit = 1U << SESSION_CLIENT_FIRST;

class SessionMissesTest : public testing::Test {
 protected:
  void change(uint32_t sessions, uint16_t event = kMissed) {
    misses.begin(event, sessions);
    misses.end(event, sessions);
  }
  uint64_t of(uint32_t bit, uint16_t event = kMissed) const {
    return misses.of(static_cast<uint32_t>(std::countr_zero(bit)), event);
  }

  std::array<uint64_t, EVENT_ID_MAX> programs{};  // hits that the kernel has missed
  std::vector<SessionMisses::Entry> kept{size_t{SESSION_CLIENT_FIRST} * EVENT_ID_MAX};
  SessionMisses::Count count = [this](uint16_t event) { return programs[event]; };
  SessionMisses misses{kept, count};
};

TEST_F(SessionMissesTest, CountsForASessionOnlyWhileItHasTheEvent) {
  programs[kMissed] = 100;  // before any session
  change(kRecorders);
  programs[kMissed] += 1;
  change(kRecorders | kClientBit);
  programs[kMissed] += 10;
  change(kClientBit);
  programs[kMissed] += 100;
  change(0);
  programs[kMissed] += 1000;
  EXPECT_EQ(of(kRecorders), 11U);
  EXPECT_EQ(of(kClientBit), 110U);
  EXPECT_EQ(of(kOutputs), 0U);
  EXPECT_EQ(of(kRecorders, kMissedOther), 0U);
}

TEST_F(SessionMissesTest, CountsWhatIsMissedWhileProgramsAreChanged) {
  misses.begin(kMissed, kRecorders);
  programs[kMissed] += 1;
  misses.end(kMissed, kRecorders);
  misses.begin(kMissed, kOutputs);
  programs[kMissed] += 10;
  misses.end(kMissed, kOutputs);
  EXPECT_EQ(of(kRecorders), 11U);
  EXPECT_EQ(of(kOutputs), 10U);
}

TEST_F(SessionMissesTest, TheNextDaemonContinuesTheSessionsOfTheDaemonItself) {
  change(kRecorders | kOutputs | kClientBit);
  programs[kMissed] += 5;
  change(kRecorders | kClientBit);
  SessionMisses next(kept, count);
  programs[kMissed] += 3;  // no matter when
  EXPECT_EQ(next.of(SESSION_RECORDER, kMissed), 8U);
  EXPECT_EQ(next.of(SESSION_OUTPUT, kMissed), 5U);
  EXPECT_EQ(next.of(SESSION_CLIENT_FIRST, kMissed), 0U) << "it ended with that daemon";
  next.begin(kMissed, kRecorders);
  next.end(kMissed, 0);
  programs[kMissed] += 7;
  EXPECT_EQ(next.of(SESSION_RECORDER, kMissed), 8U);
}

TEST_F(SessionMissesTest, WithoutEntriesOfTheEarlierDaemonNothingIsLost) {
  programs[kMissed] = 5;
  programs[kMissedOther] = 7;
  std::array<u32, EVENT_ID_MAX> ways{};
  ways[kMissed] = kRecorders;
  misses.adopt_without_entries(ways);
  programs[kMissed] += 1;
  programs[kMissedOther] += 1;
  EXPECT_EQ(of(kRecorders), 6U);
  EXPECT_EQ(of(kRecorders, kMissedOther), 7U);
  change(0);
  EXPECT_EQ(of(kRecorders), 6U);
}

TEST_F(SessionMissesTest, NeverDecreasesIfAProgramsCountDoes) {
  change(kRecorders);
  programs[kMissed] = 9;
  change(0);
  change(kRecorders);
  programs[kMissed] = 4;
  EXPECT_EQ(of(kRecorders), 9U);
}

TEST_F(SessionMissesTest, IsExactWhateverHappens) {
  constexpr std::array<uint16_t, 2> kBoth{kMissed, kMissedOther};
  for (unsigned seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    std::array<std::array<uint64_t, SESSIONS_MAX>, 2> expected{};
    std::array<uint32_t, 2> on{};
    std::array<std::array<uint64_t, SESSIONS_MAX>, 2> before{};
    for (size_t i = 0; i < kBoth.size(); ++i) {
      change(0, kBoth[i]);
      for (uint32_t session = 0; session < SESSIONS_MAX; ++session)
        before[i][session] = misses.of(session, kBoth[i]);
    }
    for (int step = 0; step < 200; ++step) {
      const size_t i = random() % kBoth.size();
      if (random() % 2 == 0) {
        on[i] = random() % (1U << SESSIONS_MAX);
        change(on[i], kBoth[i]);
        continue;
      }
      const uint64_t more = random() % 5;
      programs[kBoth[i]] += more;
      for (uint32_t session = 0; session < SESSIONS_MAX; ++session)
        if ((on[i] >> session & 1) != 0) expected[i][session] += more;
    }
    for (size_t i = 0; i < kBoth.size(); ++i)
      for (uint32_t session = 0; session < SESSIONS_MAX; ++session)
        EXPECT_EQ(misses.of(session, kBoth[i]) - before[i][session], expected[i][session])
            << "seed " << seed << ", session " << session;
  }
}

}  // namespace
}  // namespace ktraced
