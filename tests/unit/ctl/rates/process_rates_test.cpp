// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/rates/process_rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kMs = 1'000'000;  // ns

class ProcessRatesTest : public DecoderTest {
 protected:
  static constexpr int32_t kNginx = 812, kMake = 4000;
  enum Column : size_t { kName, kEvents, kShare, kCpu, kPid, kCommand };

  ProcessRatesTest() { begin_at(0); }
  void begin_at(uint64_t ms) { rates_.emplace(ms * kMs).add_source(schema_, names_); }
  void take_record(const Bytes& record, uint32_t cpu = 0) {
    rates_->on_record({.source = 0, .cpu = cpu}, RecordView(record.data()));
  }
  void change(uint64_t ms, uint32_t cpu, int32_t from, int32_t to, int32_t prio = 120) {
    take_record(make_record(EVENT_sched_switch, ms * kMs, static_cast<uint32_t>(from),
                            rec_sched_switch{.prev_pid = from, .next_pid = to, .next_prio = prio}),
                cpu);
  }
  void configure(const char* config) {
    rates_->on_config_change(0, TraceConfig::of(nlohmann::json::parse(config)));
  }
  // "NAME EVENTS/S CPU%" of each process
  std::vector<std::string> rows(uint64_t since_ms, uint64_t until_ms) {
    std::vector<std::string> rows;
    for (const TopRow& row : rates_->take(since_ms * kMs, until_ms * kMs).rows)
      rows.push_back(row[kName].text + " " + row[kEvents].text + " " + row[kCpu].text);
    return rows;
  }

  std::optional<ProcessRates> rates_;
};

TEST_F(ProcessRatesTest, CountsTheTimeOfARunInTheIntervalsInWhichItIs) {
  change(0, 0, 0, kNginx);
  change(250, 0, kNginx, kMake);
  EXPECT_THAT(rows(0, 1000), ElementsAre("idle 1.0 -", "nginx 1.0 25.0", "make 0 75.0"));
  EXPECT_THAT(rows(1000, 2000), ElementsAre("make 0 100.0")) << "no event, and it still runs";
  change(2500, 0, kMake, 0);
  EXPECT_THAT(rows(2000, 3000), ElementsAre("make 1.0 50.0"));
  EXPECT_THAT(rows(3000, 4000), ElementsAre()) << "idle";
}

TEST_F(ProcessRatesTest, CountsNothingBeforeTheFirstInterval) {
  begin_at(500);
  change(0, 0, 0, kMake);
  change(100, 0, kMake, kNginx);
  change(1000, 0, kNginx, 0);
  EXPECT_THAT(rows(500, 1000), ElementsAre("nginx 2.0 100.0"));
}

// Its last switch is not in the trace if the CPU has gone offline.
TEST_F(ProcessRatesTest, CountsTheThreadThatMayTakeItsCpuOfflineWhenItHasGoneOn) {
  constexpr int32_t kStopper = 24;
  learn(task_name(kStopper, 1, kStopper, "migration/1"));
  change(0, 1, 0, kStopper, 0);
  change(100, 1, kStopper, 0);
  EXPECT_THAT(rows(0, 1000), ElementsAre("idle 1.0 -", "migration/1 1.0 10.0"));
  change(1500, 1, 0, kStopper, 0);
  EXPECT_THAT(rows(1000, 2000), ElementsAre("idle 1.0 -"));
  EXPECT_THAT(rows(2000, 3000), ElementsAre()) << "the CPU is offline";
  change(3500, 1, 0, kNginx);
  EXPECT_THAT(rows(3000, 4000), ElementsAre("idle 1.0 -", "nginx 0 50.0")) << "online again";
  change(4200, 1, kNginx, kStopper, 0);
  EXPECT_THAT(rows(4000, 4500), ElementsAre("nginx 2.0 40.0"));
  change(4600, 1, kStopper, 0);
  EXPECT_THAT(rows(4500, 5500), ElementsAre("migration/1 1.0 10.0"))
      << "only what lies in the interval";
}

TEST_F(ProcessRatesTest, CountsAThreadThatHasOnlyTheNameOfTheOneThatTakesItsCpuOffline) {
  constexpr int32_t kImpostor = 24;
  learn(task_name(kImpostor, 1, kImpostor, "migration/1"));
  change(0, 1, 0, kImpostor);
  EXPECT_THAT(rows(0, 1000), ElementsAre("idle 1.0 -", "migration/1 0 100.0"));
  EXPECT_THAT(rows(1000, 2000), ElementsAre("migration/1 0 100.0"));
  change(2500, 1, kImpostor, 0);
  EXPECT_THAT(rows(2000, 3000), ElementsAre("migration/1 1.0 50.0"));
}

TEST_F(ProcessRatesTest, AddsTheTimesOfAllCpus) {
  learn(task_name(4001, 1, kMake, "make"));
  change(0, 0, 0, kMake);
  change(0, 1, 0, 4001);
  change(1000, 0, kMake, 0);
  EXPECT_THAT(rows(0, 1000), ElementsAre("idle 2.0 -", "make 1.0 200.0"));
}

TEST_F(ProcessRatesTest, CountsARunUpToALossAndNothingAfterIt) {
  change(0, 0, 0, kNginx);
  rates_->on_loss({.ts = 250 * kMs, .cpu = 0, .event_id = EVENT_sched_switch, .count = 7});
  EXPECT_THAT(rows(0, 1000), ElementsAre("idle 1.0 -", "nginx 0 25.0"));
  change(1500, 0, kMake, 0);
  EXPECT_THAT(rows(1000, 2000), ElementsAre("make 1.0 -")) << "it is not known since when it ran";
}

TEST_F(ProcessRatesTest, NamesTheEventThatTheCpuTimeNeeds) {
  configure(R"({"state":"running","events":["kfree"]})");
  take_record(bare_record(10 * kMs, EVENT_kfree, kNginx));
  const TopTable without = rates_->take(0, 1000 * kMs);
  EXPECT_EQ(without.note, "CPU %: needs sched_switch");
  ASSERT_EQ(without.rows.size(), 1U);
  EXPECT_EQ(without.rows[0][kCpu].text, "-");
  configure(R"({"state":"running","events":["kfree","sched_switch"]})");
  EXPECT_EQ(rates_->take(0, 1000 * kMs).note, "");
}

TEST_F(ProcessRatesTest, NamesAProcessAsItsNewestEventDoes) {
  change(0, 0, 0, kMake);
  learn(task_name(kMake, 500 * kMs, kMake, "cc1"));
  take_record(bare_record(600 * kMs, EVENT_kfree, kMake));
  change(1000, 0, kMake, 0);
  EXPECT_THAT(rows(0, 1000), ElementsAre("idle 1.0 -", "cc1 2.0 100.0"));
}

TEST_F(ProcessRatesTest, HasTheCommandLineOrTheArgumentsOfALaterExec) {
  learn(command_line(kNginx, 5, "nginx -g daemon"));
  learn(command_line(3350, 5, "bash"));
  take_record(bare_record(kTs, EVENT_kfree, kNginx));
  take_record(bare_record(kTs, EVENT_kfree, 3352));
  take_record(bare_record(kTs, EVENT_kfree, kMake));
  const auto commands = [&] {
    std::vector<std::string> texts;
    for (const TopRow& row : rates_->take(0, kTs).rows) texts.push_back(row[kCommand].text);
    return texts;
  };
  EXPECT_THAT(commands(), ElementsAre("nginx -g daemon", "bash", ""));
  take_record(exec_record("/usr/bin/make"));
  EXPECT_THAT(commands(), ElementsAre("make -j4"));
  take_record(bare_record(kTs, EVENT_kfree, 3352));
  EXPECT_THAT(commands(), ElementsAre("make -j4")) << "in later intervals too";
}

TEST_F(ProcessRatesTest, KeepsTheNewestExecsOfMany) {
  constexpr uint32_t kFirst = 100'000;
  constexpr uint32_t kLate = kFirst + ProcessRates::kMaxProcesses - 1;
  learn(task_name(kLate, 1, kLate, "make"));
  Bytes bytes = exec_record("/usr/bin/make");
  record head;
  std::memcpy(&head, bytes.data(), sizeof(head));
  for (head.tid = kFirst; head.tid <= kLate + 1; ++head.tid, ++head.ts) {
    std::memcpy(bytes.data(), &head, sizeof(head));
    take_record(bytes);
  }
  EXPECT_FALSE(rates_->take(0, kTs).rows.empty());
  take_record(bare_record(head.ts, EVENT_kfree, kLate));
  const TopTable later = rates_->take(kTs, 2 * kTs);
  ASSERT_EQ(later.rows.size(), 1U);
  EXPECT_EQ(later.rows[0][kCommand].text, "make -j4");
}

}  // namespace
}  // namespace ktraced::test
