// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/rings/bank_log.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/clock.h"

namespace ktraced {
namespace {

using Counts = std::map<std::string, uint64_t>;

constexpr uint32_t kBanks = 3;

// In memory of the test instead of the Ledger.
class BankLogTest : public testing::Test {
 protected:
  BankLogTest() {
    add(10, "kmalloc");
    add(11, "kfree");
  }
  void add(uint16_t id, const char* name) {
    Event event;
    event.id = id;
    event.name = name;
    schema.add(std::move(event));
  }
  // The log of the next daemon, if there was a previous one.
  BankLog open() {
    return {banks, schema, [this](const Event& event) { return skipped[event.name]; }};
  }

  std::vector<BankEntry> banks{kBanks};
  Schema schema;
  Counts skipped;  // so far
};

TEST_F(BankLogTest, ExcludesHitsMissedBeforeABankWasInUse) {
  skipped = {{"kmalloc", 100}};
  BankLog log = open();
  log.begin(0);
  skipped = {{"kmalloc", 103}};
  log.end(0, log.begin(1));
  EXPECT_EQ(log.missed(0), (Counts{{"kmalloc", 3}}));
  skipped = {{"kmalloc", 103}, {"kfree", 1}};
  log.end(1, log.begin(0));
  EXPECT_EQ(log.missed(1), (Counts{{"kfree", 1}}));
  log.end(0, log.begin(1));
  EXPECT_EQ(log.missed(0), Counts{});
}

TEST_F(BankLogTest, ExcludesHitsThatACatcherWasRecordingWhenTheBankBegan) {
  BankLog log = open();
  skipped = {{"kmalloc", 8}, {"kfree", 1}};
  log.begin(0);
  skipped = {{"kmalloc", 7}, {"kfree", 2}};
  log.settle_begin(0);
  skipped = {{"kmalloc", 8}, {"kfree", 2}};
  log.end(0, log.begin(1));
  EXPECT_EQ(log.missed(0), (Counts{{"kmalloc", 1}, {"kfree", 1}}));
}

TEST_F(BankLogTest, CountsHitsMissedDuringABankChangeForBothBanks) {
  BankLog log = open();
  log.begin(0);
  const uint64_t swap = log.begin(1);
  skipped = {{"kmalloc", 1}};
  log.end(0, swap);
  EXPECT_EQ(log.missed(0), (Counts{{"kmalloc", 1}}));
  log.end(1, log.begin(2));
  EXPECT_EQ(log.missed(1), (Counts{{"kmalloc", 1}}));
}

TEST_F(BankLogTest, CountsAllMissedHitsOfAnEventDefinedSince) {
  BankLog log = open();
  skipped = {{"kmalloc", 100}};
  log.begin(0);
  schema = Schema();
  log.begin(0);
  add(10, "kmalloc");
  skipped = {{"kmalloc", 3}};
  log.end(0, log.begin(1));
  EXPECT_EQ(log.missed(0), (Counts{{"kmalloc", 3}}));
}

TEST_F(BankLogTest, KeepsTimesOfBanksForTheNextDaemon) {
  skipped = {{"kmalloc", 100}};
  uint64_t begin = 0, swap = 0;
  {
    BankLog log = open();
    begin = log.begin(0);
    skipped = {{"kmalloc", 101}};
    swap = log.begin(1);
    log.end(0, swap);
    log.set_name(0, "incident");
  }
  skipped = {{"kmalloc", 107}};
  BankLog log = open();
  EXPECT_EQ(log.begin_ns(0), begin);
  EXPECT_EQ(log.end_ns(0), swap);
  EXPECT_EQ(log.missed(0), (Counts{{"kmalloc", 1}}));
  EXPECT_EQ(log.name(0), "incident");
  EXPECT_EQ(log.begin_ns(1), swap);
  EXPECT_EQ(log.end_ns(1), 0U);
  log.end(1, log.begin(0));
  EXPECT_EQ(log.missed(1), (Counts{{"kmalloc", 6}}));
  EXPECT_EQ(log.name(0), "") << "the name of its earlier content is cleared";
}

TEST_F(BankLogTest, TimesUseTheRecordsClockAndIncrease) {
  BankLog log = open();
  const uint64_t before = boottime_ns(), first = log.begin(0), second = log.begin(1);
  EXPECT_LE(before, first);
  EXPECT_LT(first, second);
  EXPECT_LE(second, boottime_ns());
}

}  // namespace
}  // namespace ktraced
