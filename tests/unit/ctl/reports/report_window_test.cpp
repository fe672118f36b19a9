// SPDX-License-Identifier: BSD-2-Clause
// The time over which reports sum up, where CPUs reach back differently far.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text/time_point.h"
#include "unit/ctl/reports/report_fixture.h"
#include "unit/support/uneven_snapshot.h"

namespace ktraced::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ReportWindow : public ReportTest {
 protected:
  // The summary of that part of the snapshot.
  json summary(const TimeArgs& times) {
    ReportCommand part = command(ReportCommand::Kind::summary, {path_});
    part.times = times;
    run(part, true);
    EXPECT_TRUE(result_) << result_.error().message;
    const json report = json::parse(out_);
    run(part, false);
    return report;
  }
  static TimeArgs since(const char* text) { return {.since = *parse_time_point(text)}; }

  std::string path_ = write_uneven_snapshot(directory_.path() / "uneven");
};

TEST_F(ReportWindow, IsThatOfAllCpus) {
  const json actual = summary({});
  const json& window = actual["window"];
  EXPECT_EQ(window["begin_ns"], 5 * kSecond);
  EXPECT_EQ(window["end_ns"], 6 * kSecond);
  EXPECT_EQ(window["seconds"], 1.0);
  EXPECT_EQ(window["furthest_ns"], kSecond);
  EXPECT_FALSE(window.contains("common_ns"));
  EXPECT_EQ(actual["total"]["events"], 16);
  EXPECT_EQ(actual["caveats"], json::array());
  EXPECT_EQ(actual["processes"]["rows"][0]["comm"], "eight") << "thread 9 did more, but earlier";
  EXPECT_EQ(actual["processes"]["rows"][0]["events"], 11);
  EXPECT_EQ(actual["processes"]["rows"][1]["events"], 5);
  EXPECT_THAT(out_, HasSubstr("1.000 s, from 5.000000 to 6.000000 after boot"));
  EXPECT_THAT(out_,
              HasSubstr("\n5.000 s on the CPU that reaches furthest back, from 1.000000\n\n"));
  EXPECT_THAT(out_, ContainsRegex("\ntotal +16 +16 "));
}

TEST_F(ReportWindow, OfCsvIsOnStandardError) {
  ReportCommand csv = command(ReportCommand::Kind::summary, {path_});
  csv.csv = true;
  ::testing::internal::CaptureStderr();
  run(csv, false);
  const std::string err = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(err, HasSubstr("ktracectl: 1.000 s, from 5.000000 to 6.000000 after boot"));
  EXPECT_THAT(err, HasSubstr("; 5.000 s on the CPU that reaches furthest back, from 1.000000\n"));
  EXPECT_THAT(out_, HasSubstr("\nkmalloc,11,0,0,1000\nkfree,5,0,0,7\n"));
  csv.directories = {write(spec())};
  ::testing::internal::CaptureStderr();
  run(csv, false);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "all its CPUs have the same window";
}

TEST_F(ReportWindow, IsTheSelectedOneThoughNotAllCpusHaveIt) {
  const json all = summary(since("0"));
  EXPECT_EQ(all["window"]["begin_ns"], kSecond);
  EXPECT_EQ(all["window"]["common_ns"], 5 * kSecond);
  EXPECT_FALSE(all["window"].contains("furthest_ns"));
  EXPECT_EQ(all["total"]["events"], 36);
  EXPECT_EQ(all["processes"]["rows"][0]["comm"], "nine");
  EXPECT_THAT(all["caveats"], ElementsAre("what CPU 0 did in the first 4.000 s was overwritten"));
  EXPECT_THAT(out_, HasSubstr("5.000 s, from 1.000000 to 6.000000 after boot"));
  EXPECT_THAT(out_,
              HasSubstr("\nnot all CPUs have all of it: the last one begins at 5.000000\n\n"));

  const json last = summary({.last_s = 2});
  EXPECT_EQ(last["window"]["begin_ns"], 4 * kSecond);
  EXPECT_EQ(last["window"]["common_ns"], 5 * kSecond);
  EXPECT_EQ(last["total"]["events"], 21);

  const json before = summary({.until = *parse_time_point("3")});
  EXPECT_EQ(before["window"]["begin_ns"], kSecond) << "there is no common window before it";
  EXPECT_EQ(before["window"]["end_ns"], 3 * kSecond);
  EXPECT_EQ(before["window"]["common_ns"], 5 * kSecond);
  EXPECT_EQ(before["total"]["events"], 11);
}

TEST_F(ReportWindow, OfAPartThatAllCpusHaveIsThatPart) {
  const json late = summary(since("5.65"));
  EXPECT_EQ(late["window"]["seconds"], 0.35);
  EXPECT_FALSE(late["window"].contains("furthest_ns"));
  EXPECT_FALSE(late["window"].contains("common_ns"));
  EXPECT_EQ(late["total"]["events"], 4) << "3 of CPU 0 and 1 of CPU 1";
  EXPECT_THAT(out_, Not(HasSubstr("CPUs have")));
  const json until = summary({.until = *parse_time_point("5.45")});
  EXPECT_EQ(until["window"]["begin_ns"], 5 * kSecond);
  EXPECT_EQ(until["window"]["furthest_ns"], kSecond);
  EXPECT_EQ(until["total"]["events"], 8) << "5 of CPU 0 and 3 of CPU 1";
}

// From 1 s to 3 s the recording has all CPUs.
TEST_F(ReportWindow, OfSeveralTracesBeginsWithTheFirstThatHasAllCpus) {
  const std::string recording = write(spec(kSecond));
  const json window = report(ReportCommand::Kind::summary, {recording, path_})["window"];
  EXPECT_EQ(window["begin_ns"], kSecond);
  EXPECT_EQ(window["end_ns"], 6 * kSecond);
  EXPECT_FALSE(window.contains("furthest_ns"));
  EXPECT_FALSE(window.contains("common_ns"));
  EXPECT_THAT(report(ReportCommand::Kind::summary, {recording, path_})["caveats"],
              ElementsAre("what CPU 0 did in the first 4.000 s of uneven was overwritten"));
}

}  // namespace
}  // namespace ktraced::test
