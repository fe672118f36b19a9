// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/input/analysis_feed.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/support/packets.h"

namespace ktraced::test {
namespace {

using ::testing::ElementsAre;

// Writes down what it is given.
class FedAnalysis : public Analysis {
 public:
  void add_source(const Schema& /*schema*/, const NameTable& /*names*/) override {}
  void on_record(const RecordOrigin& from, RecordView record) override {
    given.push_back(fmt::format("record {} of {}", record.ts(), from.source));
  }
  void on_loss(const LossItem& loss) override {
    given.push_back(fmt::format("{}: {} lost on CPU {}", loss.ts, loss.count, loss.cpu));
  }
  void on_config_change(uint64_t ts, const TraceConfig& /*config*/) override {
    given.push_back(fmt::format("change {}", ts));
  }
  std::vector<std::string> given;
};

class AnalysisFeedTest : public ::testing::Test {
 protected:
  void record(uint64_t ts, uint32_t source = 0) {
    const Bytes bytes = make_record(EVENT_kfree, ts, 1, rec_kfree{});
    feed_.on_record({.source = source, .cpu = 0}, RecordView(bytes.data()));
  }
  FedAnalysis analysis_;
  AnalysisFeed feed_{analysis_};
};

TEST_F(AnalysisFeedTest, GivesChangesBeforeTheFirstEventThatIsNotOlder) {
  feed_.add_change(100, {});
  feed_.add_change(200, {});
  feed_.add_change(300, {});
  record(99);
  record(100);
  feed_.on_loss({.ts = 250, .cpu = 1, .event_id = EVENT_kfree, .count = 7});
  record(260);
  feed_.finish();
  EXPECT_THAT(analysis_.given,
              ElementsAre("record 99 of 0", "change 100", "record 100 of 0", "change 200",
                          "250: 7 lost on CPU 1", "record 260 of 0", "change 300"));
}

TEST_F(AnalysisFeedTest, GivesABeginningOnceBeforeTheFirstRecordOfItsSource) {
  feed_.add_beginning(0, {});
  feed_.add_beginning(1, {{.cpu = 2, .event_id = EVENT_kfree, .source = 1},
                          {.cpu = 3, .event_id = EVENT_kfree, .source = 1}});
  feed_.add_change(150, {});
  record(100);
  record(200, 1);
  record(300, 1);
  EXPECT_THAT(analysis_.given,
              ElementsAre("record 100 of 0", "change 150", "200: 0 lost on CPU 2",
                          "200: 0 lost on CPU 3", "record 200 of 1", "record 300 of 1"));
}

}  // namespace
}  // namespace ktraced::test
