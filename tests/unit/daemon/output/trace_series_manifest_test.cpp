// SPDX-License-Identifier: BSD-2-Clause
// Missed hits and config changes in the manifests of a series.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/daemon/output/trace_series_fixture.h"

namespace ktraced {
namespace {

using nlohmann::json;
using test::TraceSeriesTest;
using testing::ElementsAre;

TEST_F(TraceSeriesTest, ReportsMissedHitsOfItsTime) {
  missed = {{"kmalloc", 5}};
  TraceSeries series = this->series();
  take_all(series, {metadata_packet(200)});
  missed = {{"kmalloc", 7}};
  ASSERT_TRUE(series.finish_trace());
  EXPECT_EQ(manifests().at(0).missed, (HitCounts{{"kmalloc", 2}}));
  EXPECT_THAT(manifests().at(0).incomplete_because,
              ElementsAre("the kernel skipped 2 hits of kmalloc"));
}

TEST_F(TraceSeriesTest, ReportsMissedHitsInAdjacentTracesOnly) {
  TraceSeries series = this->series();
  missed = {{"kmalloc", 9}};  // much later, because the disk was slow
  for (uint64_t end = 200; end <= 600; end += 100) {
    take_all(series, {metadata_packet(end)});
    series.note_missed({end + 10, end + 11, {{"kmalloc", end >= 400 ? 2U : 0U}}});
    ASSERT_TRUE(series.finish_trace());
  }
  std::vector<HitCounts> actual;
  for (const Manifest& manifest : manifests()) actual.push_back(manifest.missed);
  const HitCounts none, two = {{"kmalloc", 2}};
  EXPECT_THAT(actual, ElementsAre(none, none, two, two, none));
}

TEST_F(TraceSeriesTest, ReportsProcessesThatCouldNotBeFollowedOnce) {
  TraceSeries series = this->series();
  take_all(series, {metadata_packet(200)});
  follow_lost = 3;
  ASSERT_TRUE(series.finish_trace());
  take_all(series, {metadata_packet(300)});
  ASSERT_TRUE(series.finish_trace());
  EXPECT_THAT(manifests().at(0).incomplete_because,
              ElementsAre("3 processes could not be followed"));
  EXPECT_TRUE(manifests().at(1).complete());
}

TEST_F(TraceSeriesTest, RecordsConfigChangesInTheTraceOfTheirTime) {
  auto state = [](const char* text) { return std::make_shared<const json>(json{{"state", text}}); };
  TraceSeries series = this->series();
  take_all(series, {metadata_packet(200)});
  series.change({.ns = 250, .current_config = state("paused")});
  series.change({.ns = 450, .current_config = state("running again")});
  take_all(series, {metadata_packet(300)});
  ASSERT_TRUE(series.finish_trace());
  take_all(series, {metadata_packet(500)});
  ASSERT_TRUE(series.finish_trace());
  const json first = manifests().at(0).config, second = manifests().at(1).config;
  EXPECT_EQ(first["state"], "running");
  EXPECT_EQ(first["changes"], json::array({{{"ns", 250}, {"config", {{"state", "paused"}}}}}));
  EXPECT_EQ(second["state"], "paused");
  EXPECT_EQ(second["changes"],
            json::array({{{"ns", 450}, {"config", {{"state", "running again"}}}}}));
}

}  // namespace
}  // namespace ktraced
