// SPDX-License-Identifier: BSD-2-Clause
#include "trace/metadata/account_record.h"

#include <gtest/gtest.h>

#include "bpf/records.h"
#include "trace/metadata/event_records.h"

namespace ktraced {
namespace {

TEST(AccountRecord, IsReadAsItWasWritten) {
  const HitAccount hits{.recorded = 1, .filtered = 2, .dropped = 3, .missed = UINT64_MAX};
  const auto bytes = account_record({.event = 300, .hits = hits, .reset_ns = 70}, 77);
  const RecordView record(bytes.data());
  EXPECT_EQ(record.ts(), 77U);
  EXPECT_EQ(record.bytes().size(), bytes.size());
  const auto account = account_of(record);
  ASSERT_TRUE(account);
  EXPECT_EQ(account->event, 300U);
  EXPECT_EQ(account->hits, hits);
  EXPECT_EQ(account->reset_ns, 70U);
}

TEST(AccountRecord, OfAnEarlierVersionHasNoReset) {
  auto bytes = account_record({.event = 300, .hits = {.recorded = 1}, .reset_ns = 70}, 77);
  const auto size = static_cast<u16>(offsetof(rec_metadata_account, reset));
  bytes.resize(size);
  std::memcpy(bytes.data() + offsetof(record, size), &size, sizeof(size));
  const auto account = account_of(RecordView(bytes.data()));
  ASSERT_TRUE(account);
  EXPECT_EQ(account->hits.recorded, 1U);
  EXPECT_EQ(account->reset_ns, 0U);
}

TEST(AccountRecord, IsNoOtherRecord) {
  const auto config = config_records({{"state", "running"}}, 5);
  EXPECT_FALSE(account_of(RecordView(config.data())));
  auto truncated = account_record({}, 5);
  truncated.resize(sizeof(record));
  const auto size = static_cast<u16>(sizeof(record));
  std::memcpy(truncated.data() + offsetof(record, size), &size, sizeof(size));
  EXPECT_FALSE(account_of(RecordView(truncated.data())));
}

TEST(EndRecord, HasTheReason) {
  for (const std::string reason : {"", "x", "1234567", "12345678"}) {
    const auto bytes = end_record(reason, 5);
    const RecordView view(bytes.data());
    EXPECT_EQ(view.bytes().size(), bytes.size());
    EXPECT_EQ(bytes.size() % 8, 0U);
    EXPECT_EQ(end_reason_of(view), reason);
    EXPECT_EQ(account_of(view), std::nullopt);
  }
  const auto account = account_record({.event = 1, .hits = {}}, 1);
  EXPECT_EQ(end_reason_of(RecordView(account.data())), std::nullopt);
}

}  // namespace
}  // namespace ktraced
