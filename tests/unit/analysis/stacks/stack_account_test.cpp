// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/stacks/stack_account.h"

#include <gtest/gtest.h>

#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

class StackAccountTest : public DecoderTest {
 protected:
  static constexpr uint64_t kWhole = 0x8000000000000001, kCut = 0x8000000000000002,
                            kKernel = 0x8000000000000003;

  void event(const stack_numbers& at) {
    const Bytes record = with_stacks(
        make_record(EVENT_sched_switch, ++ts_, 812, rec_sched_switch{.prev_pid = 812}), at);
    account_.on_record({.source = 0, .cpu = 0}, RecordView(record.data()));
  }
  static Bytes stack(uint64_t number, stack_kind kind, stack_end end) {
    return stack_record_of(1, {.number = number, .kind = kind, .end = end, .frames = {0x401000}});
  }
  void write(uint64_t number, stack_kind kind, stack_end end) {
    const Bytes record = stack(number, kind, end);
    account_.on_stack({.source = 0, .cpu = 0}, RecordView(record.data()));
  }

  uint64_t ts_ = 0;
  StackAccount account_{3};
  StackTable none_;
};

TEST_F(StackAccountTest, CountsEventsAndCopiesOfEachKind) {
  write(kKernel, STACK_KERNEL, STACK_START);
  event({.kernel = kKernel, .user = kWhole});
  write(kWhole, STACK_USER, STACK_START);  // behind the event that has it
  write(kWhole, STACK_USER, STACK_START);
  event({.kernel = kKernel, .user = 0});
  write(kCut, STACK_USER, STACK_BROKEN);
  event({.kernel = 0, .user = kCut});
  EXPECT_FALSE(account_.lacks_any());
  const auto kernel = account_.of(StackKind::kernel, none_);
  EXPECT_EQ(kernel.events, 2U);
  EXPECT_EQ(kernel.different, 1U);
  EXPECT_EQ(kernel.written, 1U);
  const auto user = account_.of(StackKind::user, none_);
  EXPECT_EQ(user.events, 2U);
  EXPECT_EQ(user.lacking, 0U);
  EXPECT_EQ(user.different, 2U);
  EXPECT_EQ(user.written, 3U);
}

TEST_F(StackAccountTest, CountsWhatIsLackingAndFindsItElsewhere) {
  event({.kernel = 0, .user = kCut});
  event({.kernel = 0, .user = kCut});
  event({.kernel = 0, .user = kWhole});
  EXPECT_TRUE(account_.lacks_any());
  EXPECT_EQ(account_.of(StackKind::user, none_).lacking, 3U);
  StackTable elsewhere;
  const Bytes record = stack(kCut, STACK_USER, STACK_DEPTH);
  elsewhere.add(RecordView(record.data()));
  const auto user = account_.of(StackKind::user, elsewhere);
  EXPECT_EQ(user.events, 3U);
  EXPECT_EQ(user.lacking, 1U);
  EXPECT_EQ(user.written, 0U) << "of the records alone";
}

TEST_F(StackAccountTest, CountsEventsOfStacksThatDoNotFit) {
  for (uint64_t number = 1; number <= 5; ++number) event({.kernel = 0, .user = number});
  event({.kernel = 1000, .user = 1});
  const auto user = account_.of(StackKind::user, none_),
             kernel = account_.of(StackKind::kernel, none_);
  EXPECT_EQ(user.events, 6U);
  EXPECT_EQ(user.others, 2U);
  EXPECT_EQ(kernel.others, 1U);
  EXPECT_EQ(kernel.events, 1U);
  EXPECT_EQ(kernel.lacking, 0U);
}

}  // namespace
}  // namespace ktraced::test
