// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshots/ring_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bpf/shared_state.h"

namespace ktraced {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint16_t kFixed = 10, kText = 7;
constexpr uint32_t kFixedBytes = 48, kTextBytes = 24;

class RingAccountTest : public testing::Test {
 protected:
  RingAccountTest() : written(EVENT_ID_MAX) {
    schema.add({.id = kFixed, .name = "kmalloc", .fields = {}, .size = kFixedBytes});
    schema.add({.id = kText,
                .name = "exec",
                .fields = {{.name = "filename", .offset = kTextBytes, .size = 1, .count = 0}},
                .size = kTextBytes});
  }
  // `in_trace` fixed records were found of the counted ones.
  std::vector<std::string> settled(uint64_t counted, uint64_t in_trace, uint64_t capacity,
                                   bool intact = true) {
    written[kFixed] = counted;
    account.events["kmalloc"].records = in_trace;
    return balance(schema,
                   {.capacity = capacity,
                    .written = written,
                    .written_bytes = counted * kFixedBytes,
                    .found_bytes = in_trace * kFixedBytes,
                    .intact = intact},
                   account);
  }

  Schema schema;
  std::vector<uint64_t> written;
  CpuAccount account{.cpu = 3, .events = {}};
};

TEST_F(RingAccountTest, HasNoLossesInARingThatIsNotFull) {
  EXPECT_THAT(settled(100, 100, 1U << 20), IsEmpty());
  EXPECT_EQ(account.total(), (EventAccount{.records = 100}));
}

TEST_F(RingAccountTest, CountsMissingRecordsOfAFullRingAsOverwritten) {
  EXPECT_THAT(settled(1000, 85, 4096), IsEmpty());
  EXPECT_EQ(account.events["kmalloc"], (EventAccount{.records = 85, .overwritten = 915}));
}

TEST_F(RingAccountTest, ReportsAnEventWhoseRecordsAreAllOverwritten) {
  written[kText] = 2;
  account.events["kmalloc"].records = 10;
  written[kFixed] = 10;
  EXPECT_THAT(
      balance(
          schema,
          {.capacity = 480, .written = written, .written_bytes = 480 + 2 * 40, .found_bytes = 480},
          account),
      IsEmpty());
  EXPECT_EQ(account.events["exec"], (EventAccount{.overwritten = 2}));
}

TEST_F(RingAccountTest, ReportsRecordsMissingWithoutOverwriting) {
  EXPECT_THAT(settled(100, 99, 1U << 20),
              ElementsAre("CPU 3: 1 kmalloc records are missing, though nothing was overwritten"));
}

TEST_F(RingAccountTest, ReportsMoreRecordsThanCounted) {
  auto problems = settled(100, 101, 1U << 20);
  ASSERT_FALSE(problems.empty());
  EXPECT_EQ(problems.front(), "CPU 3: 101 kmalloc records where 100 were counted");
}

TEST_F(RingAccountTest, ReportsDamage) {
  EXPECT_THAT(settled(1000, 50, 4096, false),
              ElementsAre("CPU 3: damaged bytes in the flight ring end its history early"));
}

TEST_F(RingAccountTest, ReportsBytesThatCountersDoNotExplain) {
  written[kFixed] = 1000;
  account.events["kmalloc"].records = 85;
  auto problems = balance(schema,
                          {.capacity = 4096,
                           .written = written,
                           .written_bytes = 1000 * kFixedBytes + 8,
                           .found_bytes = 85 * kFixedBytes},
                          account);
  EXPECT_THAT(problems,
              ElementsAre("CPU 3: 43928 bytes were overwritten, but the counters say 43920"));
}

TEST_F(RingAccountTest, AcceptsAnyPossibleSizeOfRecordsWithText) {
  for (auto [bytes, good] : {std::pair{2 * 24, true},
                             {2 * RECORD_MAX, true},
                             {2 * 24 - 8, false},
                             {2 * RECORD_MAX + 8, false}}) {
    CpuAccount empty{.cpu = 0, .events = {}};
    written[kText] = 2;
    auto problems = balance(schema,
                            {.capacity = 8,
                             .written = written,
                             .written_bytes = static_cast<uint64_t>(bytes),
                             .found_bytes = 0},
                            empty);
    EXPECT_EQ(problems.empty(), good) << bytes;
  }
}

}  // namespace
}  // namespace ktraced
