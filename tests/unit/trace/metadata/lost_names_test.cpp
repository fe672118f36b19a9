// SPDX-License-Identifier: BSD-2-Clause
#include "trace/metadata/lost_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "trace/metadata/account_record.h"

namespace ktraced {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

TEST(LostNamesRecord, IsReadAsItWasWritten) {
  const LostNamesWindow window{.from = 5, .until = UINT64_MAX};
  const auto bytes = lost_names_record(window);
  const RecordView record(bytes.data());
  EXPECT_EQ(record.bytes().size(), bytes.size());
  EXPECT_EQ(lost_names_of(record), window);
  EXPECT_EQ(account_of(record), std::nullopt);
}

TEST(LostNamesRecord, IsNoOtherRecord) {
  const auto account = account_record({}, 5);
  EXPECT_EQ(lost_names_of(RecordView(account.data())), std::nullopt);
  const auto backwards = lost_names_record({.from = 6, .until = 5});
  EXPECT_EQ(lost_names_of(RecordView(backwards.data())), std::nullopt);
}

TEST(LostNames, JoinsNeighborsInAnyOrder) {
  LostNames lost;
  EXPECT_EQ(lost.text(), "");
  lost.add({.from = 9 * kSecond, .until = 10 * kSecond});
  lost.add({.from = 2 * kSecond, .until = 3 * kSecond});
  lost.add({.from = 1 * kSecond, .until = 2 * kSecond});
  lost.add({.from = 3 * kSecond + kSecond / 2, .until = 4 * kSecond});
  EXPECT_EQ(lost.text(),
            "threads may carry wrong names from 1.000 to 4.000 s, from 9.000 to 10.000 s after "
            "boot: names that they got then are missing");
}

TEST(LostNames, AndCommandLinesAreSaidInOneSentence) {
  LostNames lost;
  const auto account = account_record({}, 5);
  lost.add(RecordView(account.data()));
  EXPECT_EQ(lost.text(), "");
  const auto commands = lost_commands_record();
  lost.add(RecordView(commands.data()));
  lost.add(RecordView(commands.data()));
  EXPECT_EQ(lost.text(), "command lines of processes are missing: the daemon had no room for them");
  const auto names = lost_names_record({.from = 1 * kSecond, .until = 2 * kSecond});
  lost.add(RecordView(names.data()));
  EXPECT_EQ(lost.text(),
            "threads may carry wrong names from 1.000 to 2.000 s after boot: names that they got "
            "then are missing; command lines of processes are missing: the daemon had no room for "
            "them");
}

TEST(LostNames, AreBounded) {
  LostNames lost;
  for (uint64_t i = 1; i <= 1000; ++i)
    lost.add({.from = 10 * i * kSecond, .until = (10 * i + 1) * kSecond});
  const std::string text = lost.text();
  EXPECT_EQ(std::ranges::count(text, ','), LostNames::kMaxWindows - 1) << text;
  EXPECT_THAT(text, testing::HasSubstr(" names from 10.000 to "));
  EXPECT_THAT(text, testing::HasSubstr(" to 10001.000 s after boot"));
}

}  // namespace
}  // namespace ktraced
