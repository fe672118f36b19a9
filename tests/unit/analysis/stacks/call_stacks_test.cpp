// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/stacks/call_stacks.h"

#include <gtest/gtest.h>

#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

class CallStacksTest : public DecoderTest {
 protected:
  static constexpr stack_numbers kAtEntry{.kernel = 0, .user = 0x8000000000000001};
  static constexpr stack_numbers kAtExit{.kernel = 0x8000000000000002, .user = 0x8000000000000001};
  static constexpr int32_t kRead = 0, kWrite = 1, kExit = 60;

  CallStacksTest() { calls_.add_source(schema_, names_); }
  void take(const Bytes& record) {
    calls_.on_record({.source = 0, .cpu = 0}, RecordView(record.data()));
  }
  void enter(uint64_t ts, int32_t nr, const stack_numbers& at, uint32_t tid = 812) {
    const Bytes record = make_record(EVENT_sys_enter, ts, tid, rec_sys_enter{.nr = nr});
    take(at.user != 0 ? with_stacks(record, at) : record);
  }
  void leave(uint64_t ts, int32_t nr, const stack_numbers& at, uint32_t tid = 812) {
    const Bytes record = make_record(EVENT_sys_exit, ts, tid, rec_sys_exit{.nr = nr});
    take(at.user != 0 ? with_stacks(record, at) : record);
  }
  [[nodiscard]] const std::vector<StackRow>& rows() const { return stacks_.sums().rows(); }

  CallTracker calls_;
  CallStacks stacks_{calls_, StacksBy::process,
                     [](uint32_t, int32_t nr) { return nr == kRead || nr == kExit; }};
};

TEST_F(CallStacksTest, HasTheTimeOfTheChosenCalls) {
  enter(100, kRead, kAtEntry);
  leave(130, kRead, kAtExit);
  enter(200, kWrite, kAtEntry);
  leave(250, kWrite, {});
  enter(300, kRead, kAtEntry);
  leave(350, kRead, {});
  ASSERT_EQ(rows().size(), 1U);
  EXPECT_EQ(rows()[0].key.at.user, kAtEntry.user);
  EXPECT_EQ(rows()[0].key.at.kernel, 0U) << "the stack of its entry";
  EXPECT_EQ(rows()[0].weight.count, 2U);
  EXPECT_EQ(rows()[0].weight.ns, 80U);
  EXPECT_EQ(rows()[0].weight.longest_ts, 300U);
}

TEST_F(CallStacksTest, TakesTheStackOfTheExitIfTheEntryHasNone) {
  enter(100, kRead, {});
  leave(130, kRead, kAtExit);
  ASSERT_EQ(rows().size(), 1U);
  EXPECT_EQ(rows()[0].key.at.kernel, kAtExit.kernel);
  EXPECT_EQ(rows()[0].weight.ns, 30U);
}

TEST_F(CallStacksTest, CountsNoCallThatDidNotReturn) {
  enter(100, kRead, kAtEntry);
  calls_.finish(200);
  EXPECT_TRUE(rows().empty());
}

TEST_F(CallStacksTest, CountsACallAcrossALossWithoutATime) {
  enter(100, kRead, kAtEntry);
  calls_.on_loss({.ts = 110, .cpu = 0, .event_id = EVENT_sys_enter, .count = 1});
  leave(130, kRead, {});
  ASSERT_EQ(rows().size(), 1U);
  EXPECT_EQ(rows()[0].weight.count, 1U);
  EXPECT_EQ(rows()[0].weight.ns, 0U);
}

}  // namespace
}  // namespace ktraced::test
