// SPDX-License-Identifier: BSD-2-Clause
// What the first trace after a crash reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/host.h"
#include "unit/daemon/output/trace_series_fixture.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;
using test::TraceSeriesTest;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(TraceSeriesTest, FirstTraceAfterACrashReportsLosses) {
  fs::create_directories(directory());
  TraceOrigin origin = test::test_origin();
  origin.boot_id = boot_id();
  test::begin_trace(directory() / "stream-1", {.origin = origin})->keep_unfinished();
  {
    TraceSeries series = this->series();
    take_all(series, {metadata_packet(200)});
    ASSERT_TRUE(series.finish_trace());
    take_all(series, {metadata_packet(300)});
    ASSERT_TRUE(series.finish_trace());
  }
  TraceSeries later = this->series(400);
  take_all(later, {metadata_packet(500)});
  ASSERT_TRUE(later.finish_trace());
  std::vector<std::vector<std::string>> reasons;
  for (const Manifest& manifest : manifests()) reasons.push_back(manifest.incomplete_because);
  EXPECT_THAT(reasons, ElementsAre(ElementsAre(HasSubstr("an unknown number of events is lost "
                                                         "between the end of stream-1.partial")),
                                   IsEmpty(), IsEmpty()));
}

TEST_F(TraceSeriesTest, FirstTraceAfterACrashReportsTheCountOfLossesIfKnown) {
  fs::create_directories(directory());
  TraceOrigin origin = test::test_origin();
  origin.boot_id = boot_id();
  test::begin_trace(directory() / "stream-1", {.origin = origin})->keep_unfinished();
  lost_before = 37'590;
  {
    TraceSeries series = this->series();
    take_all(series, {metadata_packet(200)});
    ASSERT_TRUE(series.finish_trace());
  }
  EXPECT_THAT(manifests().back().incomplete_because,
              ElementsAre(HasSubstr("37590 events are lost between the end of stream-1.partial")));
  lost_before = 0;
  fs::rename(directory() / "stream-1.partial", directory() / "stream-9.partial");
  fs::last_write_time(directory() / "stream-9.partial/manifest.json",
                      fs::file_time_type::clock::now());
  TraceSeries series = this->series(400);
  take_all(series, {metadata_packet(500)});
  ASSERT_TRUE(series.finish_trace());
  EXPECT_THAT(manifests().back().incomplete_because, IsEmpty()) << "all of it was on the disk";
}

TEST_F(TraceSeriesTest, FirstTraceAfterAReplacedObjectReportsWhatIsLost) {
  fs::create_directories(directory());
  TraceOrigin origin = test::test_origin();
  origin.boot_id = boot_id();
  test::write_trace(directory() / "stream-1", {.origin = origin});
  replaced = {"what object-1 recorded is lost"};
  for (uint64_t begin : {100U, 400U}) {  // the second one begins after a trace of this daemon
    TraceSeries series = this->series(begin);
    take_all(series, {metadata_packet(begin + 100)});
    ASSERT_TRUE(series.finish_trace());
  }
  std::vector<std::vector<std::string>> reasons;
  for (const Manifest& manifest : manifests()) reasons.push_back(manifest.incomplete_because);
  EXPECT_THAT(reasons,
              ElementsAre(IsEmpty(), ElementsAre("what object-1 recorded is lost"), IsEmpty()));
}

TEST_F(TraceSeriesTest, FirstTraceWithoutAPredecessorReportsNoReplacedObject) {
  replaced = {"what object-1 recorded is lost"};
  TraceSeries series = this->series();
  take_all(series, {metadata_packet(200)});
  ASSERT_TRUE(series.finish_trace());
  EXPECT_TRUE(manifests().at(0).complete());
}

TEST_F(TraceSeriesTest, IgnoresTracesOfAnotherBoot) {
  fs::create_directories(directory());
  replaced = {"what object-1 recorded is lost"};
  test::begin_trace(directory() / "stream-1", {})->keep_unfinished();
  TraceSeries series = this->series();
  take_all(series, {metadata_packet(200)});
  ASSERT_TRUE(series.finish_trace());
  EXPECT_THAT(manifests().at(0).incomplete_because, IsEmpty());
}

}  // namespace
}  // namespace ktraced
