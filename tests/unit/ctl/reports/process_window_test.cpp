// SPDX-License-Identifier: BSD-2-Clause
// What 'report processes' knows of processes that are older than its window.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/ctl/reports/report_fixture.h"
#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kStart = kSecond;

class ProcessWindow : public ReportTest {
 protected:
  static Bytes switched(uint64_t ts, int32_t to) {
    return make_record(EVENT_sched_switch, ts, 0, rec_sched_switch{.next_pid = to});
  }
  // make (3352) runs a program of its own.
  static Bytes exec(uint64_t ts) {
    Bytes bytes = exec_record("/usr/bin/make");
    std::memcpy(bytes.data() + offsetof(record, ts), &ts, sizeof(ts));
    return bytes;
  }
  // The names are those of earlier versions: they have no parents.
  std::string family() {
    return write({.schema = built_schema(),
                  .packets = {{.records = {forked(kStart, 8, 3352), exec(kStart + 100),
                                           switched(kStart + kSecond, 3352),
                                           switched(kStart + kSecond + 10, 8)}}},
                  .names = {task_name(8, 1, 8, "sh", 5), command_line(8, kStart, "sh -i"),
                            task_name(3352, kStart, 3352, "make", kStart)},
                  .begin_ns = kStart,
                  .end_ns = kStart + kSecond + 1000});
  }
  static ReportCommand late(const std::string& trace) {
    ReportCommand command = ReportTest::command(ReportCommand::Kind::processes, {trace});
    command.times.last_s = 0.5;
    return command;
  }
  json rows_of(const ReportCommand& command) {
    run(command, true);
    json rows;
    const json report = json::parse(out_);
    for (const json& row : report["processes"]["rows"]) rows[row["comm"].get<std::string>()] = row;
    return rows;
  }
};

TEST_F(ProcessWindow, KnowsWhatEventsBeforeItSay) {
  const json rows = rows_of(late(family()));
  EXPECT_EQ(rows["make"]["parent"], (json{{"pid", 8}, {"comm", "sh"}}));
  EXPECT_EQ(rows["make"]["argv"], "make -j4");
  EXPECT_FALSE(rows["make"].contains("argv_read_ns"));
  EXPECT_EQ(rows["make"]["execs"], 0U) << "in the window";
}

TEST_F(ProcessWindow, KnowsWhatTheDaemonHasRead) {
  for (const bool whole : {false, true}) {
    ReportCommand command = late(family());
    if (whole) command.times = {};
    const json rows = rows_of(command);
    EXPECT_EQ(rows["sh"]["argv"], "sh -i");
    EXPECT_EQ(rows["sh"]["argv_read_ns"], kStart);
    std::filesystem::remove_all(directory_.path() / "a");
  }
}

TEST_F(ProcessWindow, PutsChildrenBelowParentsThatItKnowsByEarlierEvents) {
  ReportCommand command = late(family());
  command.tree = true;
  run(command, false);
  EXPECT_THAT(out_, HasSubstr("   8  sh       ?"));
  EXPECT_THAT(out_, HasSubstr("3352    make   sh 8"));
  EXPECT_THAT(out_, HasSubstr("sh -i\n"));
}

TEST_F(ProcessWindow, KnowsProgramsAlsoIfTheirEventIsLeftOut) {
  ReportCommand command = this->command(ReportCommand::Kind::processes, {family()});
  command.selection.events = {"sched_switch"};
  const json rows = rows_of(command);
  EXPECT_EQ(rows["make"]["argv"], "make -j4");
  EXPECT_EQ(rows["make"]["parent"]["pid"], 8U);
}

// The kernel runs a thread a little longer than its sched_process_exit.
TEST_F(ProcessWindow, KnowsAnEndJustBeforeIt) {
  constexpr uint64_t kEnd = kStart + kSecond / 4;
  const std::string trace =
      write({.schema = built_schema(),
             .packets = {{.records = {ended(kEnd, 3352, 2 << 8), switched(kStart + kSecond, 3352),
                                      switched(kStart + kSecond + 10, 8)}}},
             .names = {task_name(8, 1, 8, "sh", 5), task_name(3352, kStart, 3352, "make", kStart)},
             .begin_ns = kStart,
             .end_ns = kStart + kSecond + 1000});
  const json rows = rows_of(late(trace));
  EXPECT_EQ(rows["make"]["end"], (json{{"how", "exited"}, {"ts", kEnd}, {"status", 2}}));
  EXPECT_EQ(rows["make"]["lifetime_ns"], kEnd - kStart);
  EXPECT_EQ(rows["sh"]["end"], (json{{"how", "running"}}));
}

}  // namespace
}  // namespace ktraced::test
