// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/pins/trace_config_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernel/pins/ledger.h"

namespace ktraced {
namespace {

using nlohmann::json;

// In memory of the test instead of the Ledger.
class TraceConfigLogTest : public testing::Test {
 protected:
  TraceConfigLogTest() { log.clear(0); }
  // Entries as the next daemon finds them.
  Result<TraceConfigLog::Content> next() { return TraceConfigLog(bytes()).read(); }
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(memory)); }

  std::vector<uint64_t> memory = std::vector<uint64_t>(Ledger::kConfigBytes / sizeof(uint64_t));
  TraceConfigLog log{bytes()};
};

json numbered(int n) { return {{"n", n}}; }
// An entry of about that many bytes.
json large(int n, size_t bytes) { return {{"n", n}, {"pad", std::string(bytes, 'x')}}; }

TEST_F(TraceConfigLogTest, KeepsEntriesForTheNextDaemon) {
  log.append(100, numbered(1).dump());
  log.append(200, numbered(2).dump());
  const auto content = next();
  ASSERT_TRUE(content) << content.error().message;
  ASSERT_EQ(content->entries.size(), 2U);
  EXPECT_EQ(content->known_since_ns, 0U);
  EXPECT_EQ(content->entries[0].ns, 100U);
  EXPECT_EQ(content->entries[0].config, numbered(1));
  EXPECT_EQ(content->entries[1].ns, 200U);
  EXPECT_EQ(content->entries[1].config, numbered(2));
}

TEST_F(TraceConfigLogTest, CannotBeReadBeforeItIsWritten) {
  std::ranges::fill(memory, 0);
  EXPECT_FALSE(next());
}

TEST_F(TraceConfigLogTest, EvictsTheOldestAndReportsSinceWhenTheConfigIsKnown) {
  constexpr size_t kEntry = 100'000;
  for (int n = 1; n <= 40; ++n) log.append(static_cast<uint64_t>(n), large(n, kEntry).dump());
  const auto content = next();
  ASSERT_TRUE(content) << content.error().message;
  ASSERT_GT(content->entries.size(), 5U);
  ASSERT_LT(content->entries.size(), 11U);
  EXPECT_EQ(content->known_since_ns, content->entries.front().ns);
  EXPECT_EQ(content->entries.back().config, large(40, kEntry));
  for (size_t i = 1; i < content->entries.size(); ++i)
    EXPECT_EQ(content->entries[i].ns, content->entries[i - 1].ns + 1);
}

TEST_F(TraceConfigLogTest, LeavesAGapForAConfigThatDoesNotFit) {
  log.append(100, numbered(1).dump());
  log.append(200, large(2, Ledger::kConfigBytes).dump());
  EXPECT_FALSE(next());  // the current config is not known
  log.append(300, numbered(3).dump());
  const auto content = next();
  ASSERT_TRUE(content) << content.error().message;
  ASSERT_EQ(content->entries.size(), 1U);
  EXPECT_EQ(content->entries[0].config, numbered(3));
  EXPECT_EQ(content->known_since_ns, 300U);
}

TEST_F(TraceConfigLogTest, IsRejectedWhenADaemonEndedDuringAChange) {
  log.append(100, numbered(1).dump());
  log.begin_change(150);
  EXPECT_FALSE(next());
  log.append(200, numbered(2).dump());
  EXPECT_FALSE(next());
  log.end_change();
  EXPECT_TRUE(next());
}

TEST_F(TraceConfigLogTest, DetectsEveryFlippedBitOfAnEntry) {
  log.append(100, numbered(1).dump());
  log.append(200, numbered(2).dump());
  constexpr size_t kFirst = 4096, kBytesOfTwo = 2 * (24 + 7);
  for (size_t i = kFirst; i < kFirst + kBytesOfTwo; ++i) {
    bytes()[i] ^= std::byte{0x10};
    EXPECT_FALSE(next()) << i;
    bytes()[i] ^= std::byte{0x10};
  }
  EXPECT_TRUE(next());
}

// The head and tail may contain any bytes.
TEST_F(TraceConfigLogTest, ReadsNothingBeyondADamagedHead) {
  for (int n = 0; n < 20; ++n) log.append(100, large(n, 30'000).dump());
  for (size_t i = 8; i < 24; ++i)
    for (const unsigned char value : {0x01, 0x7f, 0xff}) {
      const std::byte before = bytes()[i];
      bytes()[i] = static_cast<std::byte>(value);
      const auto content = next();
      EXPECT_EQ(content.has_value(), bytes()[i] == before) << i;
      bytes()[i] = before;
    }
  EXPECT_TRUE(next());
}

TEST_F(TraceConfigLogTest, RestartsWhenCleared) {
  log.append(100, numbered(1).dump());
  log.clear(500);
  log.append(600, numbered(2).dump());
  const auto content = next();
  ASSERT_TRUE(content) << content.error().message;
  ASSERT_EQ(content->entries.size(), 1U);
  EXPECT_EQ(content->known_since_ns, 500U);
}

}  // namespace
}  // namespace ktraced
