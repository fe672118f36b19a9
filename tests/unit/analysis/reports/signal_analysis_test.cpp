// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/reports/signal_analysis.h"

#include <gtest/gtest.h>

#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

constexpr uint32_t kSends = 812, kGets = 4000;
constexpr int32_t kTerminate = 15, kChildSignal = 17;

class SignalAnalysisTest : public DecoderTest {
 protected:
  SignalAnalysisTest() { analysis_.add_source(schema_, names_); }
  static void take(Analysis& analysis, const Bytes& record) {
    analysis.on_record({.source = 0, .cpu = 0}, RecordView(record.data()));
  }
  static Bytes generated(uint64_t ts, uint32_t by, uint32_t to, int32_t sig, int32_t code = 0,
                         int32_t result = 0) {
    return make_record(
        EVENT_signal_generate, ts, by,
        rec_signal_generate{
            .sig = sig, .code = code, .pid = static_cast<s32>(to), .result = result});
  }
  void send(uint64_t ts, uint32_t by, uint32_t to, int32_t sig, int32_t code = 0,
            int32_t result = 0) {
    take(analysis_, generated(ts, by, to, sig, code, result));
  }
  void reach(uint64_t ts, uint32_t tid, int32_t sig, uint64_t handler) {
    take(analysis_,
         make_record(EVENT_signal_deliver, ts, tid, rec_signal_deliver{{}, sig, 0, 0, handler, 0}));
  }
  [[nodiscard]] const std::string& name(uint32_t process) const {
    return analysis_.processes()[process].comm;
  }

  SignalAnalysis analysis_;
};

TEST_F(SignalAnalysisTest, CountsSignalsBySenderAndReceiver) {
  send(100, kSends, kGets, kTerminate);
  send(110, kSends, kGets, kTerminate, 0, 2);
  send(120, kGets, kSends, kTerminate);
  ASSERT_EQ(analysis_.sent().size(), 2U);
  const SentSignals& row = analysis_.sent()[0];
  EXPECT_EQ(row.signal, kTerminate);
  ASSERT_TRUE(row.from);
  EXPECT_EQ(name(*row.from), "nginx");
  EXPECT_EQ(name(row.to), "make");
  EXPECT_EQ(row.count, 2U);
  EXPECT_EQ(row.first_ns, 100U);
  EXPECT_EQ(row.results, (std::map<int32_t, uint64_t>{{0, 1}, {2, 1}}));
}

TEST_F(SignalAnalysisTest, CountsResultsWithoutANameTogether) {
  for (int32_t result = 1000; result < 1005; ++result)
    send(100, kSends, kGets, kTerminate, 0, result);
  EXPECT_EQ(analysis_.sent()[0].results,
            (std::map<int32_t, uint64_t>{{SignalAnalysis::kUnnamedResult, 5}}));
}

TEST_F(SignalAnalysisTest, SignalsOfTheKernelHaveNoSenderWhateverRan) {
  constexpr int32_t kExited = 1, kTimer = -2;
  send(100, kSends, kGets, kChildSignal, kExited);
  send(110, kGets, kGets, kChildSignal, kTimer);
  ASSERT_EQ(analysis_.sent().size(), 1U);
  EXPECT_FALSE(analysis_.sent()[0].from);
  EXPECT_EQ(analysis_.sent()[0].count, 2U);
}

TEST_F(SignalAnalysisTest, CountsWhatAFunctionOfTheProcessHandles) {
  reach(100, kGets, kTerminate, 0);
  reach(110, kGets, kTerminate, 0x401000);
  reach(120, kGets, kTerminate, 0x401000);
  ASSERT_EQ(analysis_.received().size(), 1U);
  EXPECT_EQ(analysis_.received()[0].count, 3U);
  EXPECT_EQ(analysis_.received()[0].handled, 2U);
  EXPECT_EQ(analysis_.received()[0].first_ns, 100U);
}

TEST_F(SignalAnalysisTest, CountsTheRestTogetherWhenTheTableIsFull) {
  SignalAnalysis small(1);
  small.add_source(schema_, names_);
  take(small, generated(100, kSends, kGets, kTerminate));
  take(small, generated(110, kSends, kGets, kChildSignal));
  take(small, generated(120, 77, 78, kTerminate));  // more processes than there is room for
  ASSERT_EQ(small.sent().size(), 2U);
  EXPECT_FALSE(small.sent()[0].others);
  EXPECT_TRUE(small.sent()[1].others);
  EXPECT_EQ(small.sent()[1].count, 2U);
  EXPECT_EQ(small.processes().size(), 2U);
}

TEST_F(SignalAnalysisTest, CountsLossesOfSignalsOnly) {
  analysis_.on_loss({.ts = 20, .cpu = 0, .event_id = EVENT_signal_generate, .count = 7});
  analysis_.on_loss({.ts = 20, .cpu = 0, .event_id = EVENT_kmalloc, .count = 5});
  EXPECT_EQ(analysis_.lost(), 7U);
}

}  // namespace
}  // namespace ktraced::test
