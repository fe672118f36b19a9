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
  // From 6 s to 9 s, after the other one: CPU 1 has all of it, a kfree each second, CPU 0 has 8 s
  // to 9 s.
  std::string next_snapshot() {
    TraceSpec next = spec(8 * kSecond);
    next.packets = {{.cpu = 0, .records = {kmalloc_at(8 * kSecond, 0x1000)}}, {.cpu = 1}};
    for (uint64_t second = 6; second <= 9; ++second)
      next.packets[1].records.push_back(kfree_at(second * kSecond + (second == 6), 0x9000));
    next.end_ns = 9 * kSecond;
    return write(
        next,
        [](Manifest& manifest) {
          manifest.kind = TraceKind::snapshot;
          manifest.since_ns = 6 * kSecond;
          for (CpuAccount& cpu : manifest.cpus)
            if (cpu.cpu == 0) cpu.events["kmalloc"].overwritten = 1;
        },
        "next");
  }
  static json gap(uint64_t begin_ns, uint64_t end_ns) {
    return json::array({{{"begin_ns", begin_ns}, {"end_ns", end_ns}}});
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

// From 1 s to 3 s the recording has all CPUs, and from 5 s to 6 s the snapshot.
TEST_F(ReportWindow, OfSeveralTracesIsWithoutTheTimeThatNotAllCpusHave) {
  const ReportCommand both = command(ReportCommand::Kind::summary, {write(spec(kSecond)), path_});
  run(both, true);
  const json actual = json::parse(out_), &window = actual["window"];
  EXPECT_EQ(window["begin_ns"], kSecond);
  EXPECT_EQ(window["end_ns"], 6 * kSecond);
  EXPECT_EQ(window["gaps"], gap(3 * kSecond + 1, 5 * kSecond - 1));
  EXPECT_NEAR(window["seconds"], 3.0, 1e-6);
  EXPECT_FALSE(window.contains("furthest_ns"));
  EXPECT_FALSE(window.contains("common_ns"));
  EXPECT_EQ(actual["total"]["events"], 4 + 11 + 16) << "without 9 of CPU 1 between them";
  EXPECT_THAT(actual["caveats"],
              ElementsAre("what CPU 0 did in the first 4.000 s of uneven was overwritten"));
  run(both, false);
  EXPECT_THAT(out_, HasSubstr("\n3.000 s, from 1.000000 to 6.000000 after boot"));
  EXPECT_THAT(out_, HasSubstr("\nwithout 2.000 s that not all CPUs have, from 3.000000 to "
                              "5.000000\n\n"));
  EXPECT_THAT(out_, ContainsRegex("\ntotal +31 +10 "));
}

TEST_F(ReportWindow, OfTwoSnapshotsIsWhatAllCpusHaveInEither) {
  const json actual = report(ReportCommand::Kind::summary, {path_, next_snapshot()});
  EXPECT_EQ(actual["window"]["begin_ns"], 5 * kSecond);
  EXPECT_EQ(actual["window"]["end_ns"], 9 * kSecond);
  EXPECT_EQ(actual["window"]["furthest_ns"], kSecond);
  EXPECT_EQ(actual["window"]["gaps"], gap(6 * kSecond + 1, 8 * kSecond - 1));
  EXPECT_NEAR(actual["window"]["seconds"], 2.0, 1e-6);
  EXPECT_EQ(actual["total"]["events"], 16 + 3);
}

TEST_F(ReportWindow, OfTwoSnapshotsEndsWhereNothingFollows) {
  ReportCommand both = command(ReportCommand::Kind::summary, {path_, next_snapshot()});
  both.times.until = *parse_time_point("7");
  run(both, true);
  const json window = json::parse(out_)["window"];
  EXPECT_EQ(window["end_ns"], 6 * kSecond);
  EXPECT_EQ(window["seconds"], 1.0);
  EXPECT_FALSE(window.contains("gaps"));
}

TEST_F(ReportWindow, ThatIsSelectedHasNoGapWhereACpuHasRecords) {
  ReportCommand both = command(ReportCommand::Kind::summary, {path_, next_snapshot()});
  both.times = since("5");
  run(both, true);
  json actual = json::parse(out_);
  EXPECT_FALSE(actual["window"].contains("gaps"));
  EXPECT_EQ(actual["window"]["seconds"], 4.0);
  EXPECT_EQ(actual["total"]["events"], 16 + 3 + 2);
  both.directories = {write(spec(kSecond)), write(spec(10 * kSecond), {}, "later")};
  both.times = since("2");
  run(both, true);
  actual = json::parse(out_);
  EXPECT_EQ(actual["window"]["gaps"], gap(3 * kSecond + 1, 10 * kSecond - 1));
  EXPECT_NEAR(actual["window"]["seconds"], 3.0, 1e-6) << "7 seconds are in neither";
}

// 8 runs on CPU 1 when the first one ends. The second one has nothing of this CPU.
TEST_F(ReportWindow, OfSchedHasNoRunAcrossAGap) {
  const auto change = [](uint64_t ts, int32_t from, int32_t to) {
    return make_record(EVENT_sched_switch, ts, static_cast<uint32_t>(from),
                       rec_sched_switch{.prev_pid = from, .prev_state = 1, .next_pid = to});
  };
  TraceSpec first = spec(kSecond), later = spec(5 * kSecond);
  first.packets = {{.cpu = 1, .records = {change(kSecond, 0, 8)}}};
  later.packets = {{.cpu = 0, .records = {change(5 * kSecond, 0, 9), change(6 * kSecond, 9, 0)}}};
  const json actual = report(ReportCommand::Kind::sched, {write(first), write(later, {}, "later")});
  EXPECT_EQ(actual["cpus"][0]["busy_ns"], kSecond) << "nothing of it is missing";
  EXPECT_EQ(actual["cpus"][1]["cpu"], 1);
  EXPECT_EQ(actual["cpus"][1]["busy_ns"], 0);
  EXPECT_EQ(actual["cpus"][1]["unknown_ns"], 6 * kSecond);
}

}  // namespace
}  // namespace ktraced::test
