// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/reports/summary_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "unit/ctl/reports/report_fixture.h"
#include "unit/support/stacked_trace.h"

namespace ktraced::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SummaryReportTest : public ReportTest {
 protected:
  // kmalloc has more events than kfree, which has a loss; "zeta" does more than "alpha".
  std::string counted() {
    TraceSpec counted = spec();
    counted.packets[0].records.push_back(kmalloc_at(kSecond + 200, 0x3000));
    counted.packets[1].lost = {{.count = 5, .event_id = EVENT_kfree}};
    counted.names = {task_name(8, 1, 8, "zeta"), task_name(9, 1, 9, "alpha")};
    return write(counted);
  }
  // The names that begin a line, in their order.
  std::vector<std::string> lines(const std::vector<std::string>& names) {
    std::vector<std::string> found;
    std::istringstream text(out_);
    for (std::string line; std::getline(text, line);)
      for (const std::string& name : names)
        if (line.starts_with(name)) found.push_back(name);
    return found;
  }
};

TEST_F(SummaryReportTest, CountsEvents) {
  TraceSpec with_loss = spec();
  with_loss.packets[1].lost = {{.count = 5, .event_id = EVENT_sys_enter}};
  const std::string path = write(with_loss, [](Manifest& m) { m.missed["kfree"] = 2; });
  const json actual = report(ReportCommand::Kind::summary, {path});
  EXPECT_EQ(
      actual["events"]["kmalloc"],
      json::parse(R"({"events":2,"lost":0,"missed":0,"overwritten":0,"first_ns":1000000000})"));
  EXPECT_EQ(actual["events"]["kfree"]["missed"], 2);
  EXPECT_EQ(actual["events"]["sys_enter"]["lost"], 5);
  EXPECT_EQ(actual["total"], json::parse(R"({"events":4,"lost":5,"missed":2,"overwritten":0})"));
  ASSERT_EQ(actual["cpus"].size(), 2U);
  EXPECT_EQ(actual["cpus"][1]["lost"], 5);
  EXPECT_EQ(actual["cpus"][1]["first_ns"], 2 * kSecond);
  EXPECT_EQ(actual["processes"]["of"], 2);
  EXPECT_EQ(actual["processes"]["rows"][0],
            json::parse(R"({"pid":8,"comm":"eight","events":2,"first_ns":1000000000})"));
  EXPECT_EQ(actual["next"][0]["report"], "kmem");

  const std::string out = text(ReportCommand::Kind::summary, path);
  EXPECT_THAT(out, HasSubstr("2.000 s, from 1.000000 to 3.000000 after boot"));
  EXPECT_THAT(out, HasSubstr("  8  eight         2  50.0 %\n"));
  EXPECT_THAT(out, HasSubstr("see 'ktracectl report kmem'"));
}

TEST_F(SummaryReportTest, SaysHowManyStacksThereAreAndHowTheyEnd) {
  TraceSpec stacked = stacked_trace();
  stacked.packets.push_back(
      {.cpu = 1,
       .records = {with_stacks(sample_of(kSecond + 900 * kMillisecond, 813, SAMPLE_KERNEL),
                               {.kernel = 0, .user = 0x8000000000000999})}});
  const std::string path = write(stacked);
  const json rows = report(ReportCommand::Kind::summary, {path})["stacks"];
  ASSERT_EQ(rows.size(), 2U);
  uint64_t written = 0, lacking = 0;
  for (const json& row : rows) {
    EXPECT_EQ(row["written"].get<uint64_t>(),
              row["different"].get<uint64_t>() + row["repeated"].get<uint64_t>());
    written += row["written"].get<uint64_t>();
    lacking += row["lacking"].get<uint64_t>();
  }
  EXPECT_EQ(rows[0]["kind"], "user");
  EXPECT_EQ(lacking, 1U);
  uint64_t records = 0;
  for (const PacketSpec& packet : stacked.packets)
    for (const Bytes& record : packet.records)
      records += RecordView(record.data()).id() == RECORD_STACK ? 1 : 0;
  EXPECT_EQ(written, records);
  EXPECT_THAT(text(ReportCommand::Kind::summary, path),
              HasSubstr("STACKS  EVENTS  LACKING  DIFFERENT  WRITTEN  REPEATED\nuser "));
}

TEST_F(SummaryReportTest, HasNoAccountOfStacksWhereThereAreNone) {
  EXPECT_EQ(report(ReportCommand::Kind::summary, {counted()})["stacks"], json::array());
}

// A stack may have been written before the window.
TEST_F(SummaryReportTest, FindsStacksOutsideTheWindow) {
  ReportCommand last = command(ReportCommand::Kind::summary, {write(stacked_trace())});
  last.times.last_s = 0.845;
  run(last, true);
  for (const json& row : json::parse(out_)["stacks"]) EXPECT_EQ(row["lacking"], 0) << row;
}

TEST_F(SummaryReportTest, SortsTextAndCsv) {
  ReportCommand sorted = command(ReportCommand::Kind::summary, {counted()});
  const auto order = [&](const char* by, bool csv) {
    sorted.by = by;
    sorted.csv = csv;
    run(sorted, false);
    return lines({"kfree", "kmalloc"});
  };
  for (const bool csv : {false, true}) {
    EXPECT_THAT(order("", csv), ElementsAre("kmalloc", "kfree"));
    EXPECT_THAT(order("name", csv), ElementsAre("kfree", "kmalloc"));
    EXPECT_THAT(order("lost", csv), ElementsAre("kfree", "kmalloc"));
    EXPECT_THAT(order("missed", csv), ElementsAre("kmalloc", "kfree")) << "none: by their events";
  }
}

TEST_F(SummaryReportTest, SortsProcessesByEventsOrName) {
  ReportCommand sorted = command(ReportCommand::Kind::summary, {counted()});
  const auto first = [&](const char* by) {
    sorted.by = by;
    run(sorted, true);
    const json actual = json::parse(out_);
    EXPECT_EQ(actual["by"], by);
    return actual["processes"]["rows"][0]["comm"];
  };
  EXPECT_EQ(first("events"), "zeta");
  EXPECT_EQ(first("lost"), "zeta") << "losses are known by event only";
  EXPECT_EQ(first("name"), "alpha");
}

}  // namespace
}  // namespace ktraced::test
