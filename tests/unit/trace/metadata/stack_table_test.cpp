// SPDX-License-Identifier: BSD-2-Clause
#include "trace/metadata/stack_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/support/packets.h"

namespace ktraced {
namespace {

using test::Bytes;
using test::stack_record_of;
using testing::ElementsAre;
using testing::IsNull;
using testing::Pair;

constexpr uint64_t kNumber = 0x8000000000000001;

RecordView view(const Bytes& bytes) { return RecordView(bytes.data()); }

TEST(StackOf, ReadsARecordOfAStack) {
  const Bytes bytes = stack_record_of(5, {.number = kNumber,
                                          .kind = STACK_USER,
                                          .end = STACK_BROKEN,
                                          .frames = {0x55001000, 0x7f0000001234}});
  EXPECT_EQ(stack_of(view(bytes)), (Stack{.kind = StackKind::user,
                                          .end = StackEnd::broken,
                                          .frames = {0x55001000, 0x7f0000001234}}));
}

TEST(StackOf, KnowsTheKernelStackOfASample) {
  const Bytes bytes =
      stack_record_of(5, {.number = kNumber, .kind = STACK_SAMPLED, .frames = {1, 2}});
  EXPECT_EQ(stack_of(view(bytes)),
            (Stack{.kind = StackKind::kernel, .frames = {1, 2}, .sampled = true}));
  StackTable table;
  table.add(view(bytes));
  table.add(view(stack_record_of(6, {.number = kNumber, .frames = {1, 2}})));
  EXPECT_EQ(table.ambiguous(), 1U) << "it is another stack";
}

TEST(StackOf, ReadsTheLongestStackAndAnEmptyOne) {
  const std::vector<uint64_t> frames(STACK_DEPTH_MAX, 0xffffffff81000001);
  const auto longest =
      stack_of(view(stack_record_of(1, {.number = kNumber, .end = STACK_DEPTH, .frames = frames})));
  ASSERT_TRUE(longest);
  EXPECT_EQ(longest->frames, frames);
  const auto empty = stack_of(view(stack_record_of(1, {.number = kNumber})));
  ASSERT_TRUE(empty);
  EXPECT_TRUE(empty->frames.empty());
}

TEST(StackOf, RefusesWhatProgramsDoNotWrite) {
  const test::StackSpec good{.number = kNumber, .frames = {1, 2}};
  const Bytes event = test::bare_record(1);
  EXPECT_FALSE(stack_of(view(event)));
  const auto with_byte = [&](size_t at, uint8_t value) {
    Bytes bytes = stack_record_of(1, good);
    bytes[at] = std::byte{value};
    return stack_of(view(bytes));
  };
  EXPECT_TRUE(with_byte(offsetof(rec_stack, length), 2));
  EXPECT_FALSE(with_byte(offsetof(rec_stack, length), 1));
  EXPECT_FALSE(with_byte(offsetof(rec_stack, length), 3));
  EXPECT_FALSE(with_byte(offsetof(rec_stack, kind), 0));
  EXPECT_FALSE(with_byte(offsetof(rec_stack, kind), STACK_SAMPLED + 1));
  EXPECT_FALSE(with_byte(offsetof(rec_stack, end), 0));
  EXPECT_FALSE(with_byte(offsetof(rec_stack, end), STACK_UNREADABLE + 1));
  EXPECT_FALSE(with_byte(offsetof(record, size), 24));
}

TEST(StackTable, FindsStacksByNumber) {
  StackTable table;
  table.add(view(stack_record_of(1, {.number = kNumber, .frames = {1}})));
  table.add(view(stack_record_of(2, {.number = kNumber + 1, .frames = {2}})));
  table.add(view(test::bare_record(3)));
  ASSERT_NE(table.find(kNumber + 1), nullptr);
  EXPECT_THAT(table.find(kNumber)->frames, ElementsAre(1));
  EXPECT_THAT(table.find(kNumber + 1)->frames, ElementsAre(2));
  EXPECT_THAT(table.find(kNumber + 2), IsNull());
  EXPECT_THAT(table.find(0), IsNull());
}

TEST(StackTable, NoticesTwoStacksWithOneNumber) {
  StackTable table;
  const Bytes first = stack_record_of(1, {.number = kNumber, .frames = {1, 2}});
  table.add(view(first));
  table.add(view(first));
  EXPECT_EQ(table.ambiguous(), 0U);
  EXPECT_FALSE(table.find(kNumber)->ambiguous);
  table.add(view(stack_record_of(2, {.number = kNumber, .end = STACK_DEPTH, .frames = {1, 2}})));
  table.add(view(stack_record_of(3, {.number = kNumber, .frames = {1, 3}})));
  table.add(view(first));
  EXPECT_EQ(table.ambiguous(), 1U);
  EXPECT_TRUE(table.find(kNumber)->ambiguous);
  EXPECT_THAT(table.find(kNumber)->frames, ElementsAre(1, 2));
}

// As in a ring whose oldest mappings are overwritten, for a reader who gets pseudonyms.
TEST(StackTable, TakesFramesThatAreHiddenInOneCopyFromAnother) {
  StackTable table;
  const auto add = [&](std::vector<uint64_t> frames) {
    table.add(view(
        stack_record_of(1, {.number = kNumber, .kind = STACK_USER, .frames = std::move(frames)})));
  };
  add({0, 2, 0});
  add({1, 2, 0});
  add({0, 0, 3});
  EXPECT_THAT(table.find(kNumber)->frames, ElementsAre(1, 2, 3));
  EXPECT_EQ(table.ambiguous(), 0U);
  add({1, 0, 4});
  EXPECT_THAT(table.find(kNumber)->frames, ElementsAre(1, 2, 3));
  EXPECT_EQ(table.ambiguous(), 1U);
}

TEST(StackTable, KeepsTheStacksThatWereAddedLast) {
  const std::vector<uint64_t> frames(100, 7);
  const auto add = [&](StackTable& table, uint64_t number) {
    table.add(view(stack_record_of(1, {.number = kNumber + number, .frames = frames})));
  };
  StackTable table(100 * 1024);
  for (uint64_t number = 0; number < 10'000; ++number) {
    add(table, number);
    if (number % 10 == 0) add(table, 0);  // one that stays in use
  }
  EXPECT_NE(table.find(kNumber), nullptr);
  EXPECT_NE(table.find(kNumber + 9'999), nullptr);
  EXPECT_NE(table.find(kNumber + 9'960), nullptr);
  EXPECT_THAT(table.find(kNumber + 9'000), IsNull());
  EXPECT_GT(table.evicted(), 9'800U);
  EXPECT_LT(table.evicted(), 10'000U);
}

TEST(StackTable, RemembersThatANumberIsAmbiguousWhileTheStackIsInUse) {
  StackTable table(100 * 1024);
  table.add(view(stack_record_of(1, {.number = kNumber, .frames = {1}})));
  table.add(view(stack_record_of(1, {.number = kNumber, .frames = {2}})));
  const std::vector<uint64_t> frames(100, 7);
  for (uint64_t number = 1; number < 2'000; ++number) {
    table.add(view(stack_record_of(1, {.number = kNumber + number, .frames = frames})));
    if (number % 10 == 0) table.add(view(stack_record_of(1, {.number = kNumber, .frames = {1}})));
  }
  ASSERT_NE(table.find(kNumber), nullptr);
  EXPECT_TRUE(table.find(kNumber)->ambiguous);
  EXPECT_EQ(table.ambiguous(), 1U);
}

TEST(StackCounts, CountsEventsByTheEndOfTheirStacks) {
  const Stack complete{.end = StackEnd::start, .frames = {}};
  const Stack broken{.end = StackEnd::broken, .frames = {}, .ambiguous = true};
  StackCounts counts;
  EXPECT_EQ(counts.total(), 0U);
  EXPECT_EQ(counts.complete(), 0U);
  counts.add(&complete, StackEnd::start);
  counts.add(&complete, StackEnd::start, 3);
  counts.add(&broken, StackEnd::broken, 2);
  counts.add(nullptr, StackEnd::unreadable, 5);
  EXPECT_THAT(counts.by_end, ElementsAre(Pair(StackEnd::start, 4), Pair(StackEnd::broken, 2)));
  EXPECT_EQ(counts.lacking, 5U);
  EXPECT_EQ(counts.ambiguous, 2U);
  EXPECT_EQ(counts.total(), 11U);
  EXPECT_EQ(counts.complete(), 4U);
}

TEST(StackEnd, HasANameForEach) {
  EXPECT_EQ(name_of(StackEnd::start), "start");
  EXPECT_EQ(name_of(StackEnd::depth), "depth");
  EXPECT_EQ(name_of(StackEnd::broken), "broken");
  EXPECT_EQ(name_of(StackEnd::unreadable), "unreadable");
}

}  // namespace
}  // namespace ktraced
