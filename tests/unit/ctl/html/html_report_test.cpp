// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/html/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ctl/html/html_template.h"
#include "trace/metadata/lost_names.h"
#include "unit/ctl/reports/report_fixture.h"
#include "unit/support/call_string.h"
#include "unit/support/stacked_trace.h"
#include "unit/support/uneven_snapshot.h"

namespace ktraced::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Bytes change_at(uint64_t ts, int32_t from, int32_t to) {
  return make_record(EVENT_sched_switch, ts, static_cast<uint32_t>(from),
                     rec_sched_switch{.prev_pid = from, .prev_state = 1, .next_pid = to});
}
Bytes enter_at(uint64_t ts) {
  return make_record(EVENT_sys_enter, ts, 8, rec_sys_enter{.nr = 257});
}
Bytes leave_at(uint64_t ts) {
  return make_record(EVENT_sys_exit, ts, 8, rec_sys_exit{.nr = 257, .ret = -2});
}

class HtmlReport : public ReportTest {
 protected:
  // Thread 8 runs, calls and allocates on CPU 0; something is lost on CPU 1.
  static TraceSpec busy() {
    TraceSpec spec{.schema = built_schema(),
                   .packets = {{.cpu = 0,
                                .records = {change_at(kSecond + 10, 0, 8), enter_at(kSecond + 20),
                                            kmalloc_at(kSecond + 30, 0x1000),
                                            leave_at(kSecond + 40), change_at(kSecond + 50, 8, 0)},
                                .lost = {}},
                               {.cpu = 1,
                                .records = {kfree_at(kSecond + 60, 0x1000)},
                                .lost = {{.count = 5, .event_id = EVENT_kmalloc}}}},
                   .names = {task_name(8, 1, 8, "</script><b>"), task_name(9, 1, 9, "nine")},
                   .symbols = {{kSite, "put_pid+0x1/0x2"}}};
    spec.begin_ns = kSecond;
    spec.end_ns = kSecond + 100;
    return spec;
  }
  void make(std::vector<std::string> directories, std::vector<std::string> events = {},
            const std::string& output = "") {
    Options options;
    ::testing::internal::CaptureStdout();
    result_ = run_html_report({.directories = std::move(directories),
                               .selection = {.events = std::move(events)},
                               .output = output.empty() ? path() : output},
                              options);
    out_ = ::testing::internal::GetCapturedStdout();
  }
  [[nodiscard]] std::string path() const { return directory_.path() / "report.html"; }
  // The data in the page between the halves of the template.
  std::string text() {
    const std::string page = read_file(path());
    const HtmlTemplate around = html_template();
    EXPECT_TRUE(page.starts_with(around.before));
    EXPECT_TRUE(page.ends_with(around.after));
    return page.substr(around.before.size(),
                       page.size() - around.before.size() - around.after.size());
  }
};

TEST_F(HtmlReport, IsOnStandardOutputWhenTheFileIsADash) {
  make({write(busy())}, {}, "-");
  ASSERT_TRUE(result_) << result_.error().message;
  EXPECT_TRUE(out_.starts_with(html_template().before));
  EXPECT_TRUE(out_.ends_with(html_template().after));
  EXPECT_FALSE(std::filesystem::exists("-"));
}

TEST_F(HtmlReport, HasCallsOfOneRecordAsThoseOfTwo) {
  json both[2];
  for (const bool completed : {false, true}) {
    TraceSpec spec = busy();
    auto& records = spec.packets[0].records;
    if (completed) {
      records[3] = make_record(EVENT_sys_completed, kSecond + 40, 8,
                               rec_sys_completed{.nr = 257, .ret = -2, .duration = 20});
      records.erase(records.begin() + 1);
    }
    make({write(spec, {}, completed ? "one" : "two")});
    ASSERT_TRUE(result_) << result_.error().message;
    both[completed] = json::parse(text());
    std::filesystem::remove(path());
  }
  EXPECT_EQ(both[1]["timeline"]["threads"]["calls"]["of"], 1);
  EXPECT_EQ(both[1]["timeline"]["threads"], both[0]["timeline"]["threads"]);
  EXPECT_EQ(both[1]["timeline"]["syscalls"], both[0]["timeline"]["syscalls"]);
  EXPECT_EQ(both[1]["syscalls"]["calls"], both[0]["syscalls"]["calls"]);
}

TEST_F(HtmlReport, ContainsTheOtherReports) {
  const std::string trace = write(busy());
  make({trace});
  ASSERT_TRUE(result_) << result_.error().message;
  EXPECT_THAT(out_, HasSubstr("report.html: 6 events"));
  const json data = json::parse(text());
  for (const auto& [kind, name] : {std::pair{ReportCommand::Kind::summary, "summary"},
                                   std::pair{ReportCommand::Kind::kmem, "kmem"},
                                   std::pair{ReportCommand::Kind::sched, "sched"},
                                   std::pair{ReportCommand::Kind::syscalls, "syscalls"},
                                   std::pair{ReportCommand::Kind::files, "files"}}) {
    json alone = report(kind, {trace});
    EXPECT_EQ(alone["window"], data["window"]);
    EXPECT_EQ(alone["sources"], data["sources"]);
    if (kind == ReportCommand::Kind::summary)
      for (const char* elsewhere : {"caveats", "stacks"}) alone.erase(elsewhere);
    alone.erase("window");
    alone.erase("sources");
    EXPECT_EQ(alone, data[name]) << name;
  }
}

TEST_F(HtmlReport, SaysThatCommandLinesMayBeMissing) {
  TraceSpec spec = busy();
  spec.names.push_back(unread_commands_record());
  const std::string trace = write(spec);
  make({trace});
  ASSERT_TRUE(result_) << result_.error().message;
  const json data = json::parse(text());
  EXPECT_THAT(data["processes"]["caveats"].dump(), HasSubstr("command lines of processes"));
  EXPECT_EQ(data["processes"]["caveats"],
            report(ReportCommand::Kind::processes, {trace})["caveats"]);
  EXPECT_THAT(data["caveats"].dump(), Not(HasSubstr("command lines of processes")));
}

TEST_F(HtmlReport, IsOfTheWindowThatAllCpusHave) {
  const std::string trace = write_uneven_snapshot(directory_.path() / "uneven");
  make({trace});
  ASSERT_TRUE(result_) << result_.error().message;
  EXPECT_THAT(out_, HasSubstr("report.html: 16 events"));
  const json data = json::parse(text());
  EXPECT_EQ(data["window"]["begin_ns"], 5 * kSecond);
  EXPECT_EQ(data["window"]["furthest_ns"], kSecond);
  EXPECT_EQ(data["window"], report(ReportCommand::Kind::summary, {trace})["window"]);
}

TEST_F(HtmlReport, HasTheFiles) {
  TraceSpec spec = busy();
  spec.packets.push_back({.cpu = 0,
                          .records = {make_record(EVENT_sys_enter, kSecond + 70, 8,
                                                  rec_sys_enter{.nr = 257, .args = {0, 0x1000}}),
                                      call_string(EVENT_sys_enter_string, kSecond + 71, 8,
                                                  {.pointer = 0x1000, .nr = 257, .arg = 1}, "/<b>"),
                                      leave_at(kSecond + 80)},
                          .lost = {}});
  make({write(spec)});
  const json data = json::parse(text());
  const json& path = data["files"]["paths"]["rows"][0];
  EXPECT_EQ(path["path"], "/<b>");
  EXPECT_EQ(path["first_ns"], kSecond + 70);
  EXPECT_EQ(data["files"]["failures"]["rows"][0]["error"], "ENOENT");
}

TEST_F(HtmlReport, HasTheClockOffsetExactly) {
  make({write(busy())});
  EXPECT_EQ(json::parse(text())["clocks"][0]["clock_offset_ns"], "1700000000123456789");
}

TEST_F(HtmlReport, HasTheTimeOfTheFirstEventOfRows) {
  make({write(busy())});
  const json data = json::parse(text());
  EXPECT_EQ(data["summary"]["events"]["sched_switch"]["first_ns"], kSecond + 10);
  EXPECT_EQ(data["kmem"]["call_sites"]["rows"][0]["first_ns"], kSecond + 30);
  EXPECT_EQ(data["processes"]["processes"]["rows"][0]["first_ns"], kSecond + 10);
  EXPECT_EQ(data["syscalls"]["calls"]["rows"][0]["first_ns"], kSecond + 40);
}

TEST_F(HtmlReport, HasWhoWakesWhom) {
  TraceSpec spec = busy();
  const auto wakeup = [](uint64_t ts) {
    return make_record(EVENT_sched_wakeup, ts, 9, rec_sched_wakeup{.pid = 8});
  };
  spec.packets.push_back(
      {.cpu = 0, .records = {wakeup(kSecond + 70), change_at(kSecond + 85, 0, 8)}, .lost = {}});
  const std::string trace = write(spec);
  make({trace});
  const json wakeups = json::parse(text())["wakeups"];
  const json& pair = wakeups["pairs"]["rows"][0];
  EXPECT_EQ(pair["waker"]["comm"], "nine");
  EXPECT_EQ(pair["tid"], 8);
  EXPECT_EQ(pair["max_ns"], 15);
  EXPECT_EQ(pair["max_ts"], kSecond + 70);
  EXPECT_EQ(wakeups["wakers"]["rows"][0]["count"], 1);
  EXPECT_TRUE(wakeups["wakers_are_guessed"]);
}

TEST_F(HtmlReport, HasTheSignals) {
  TraceSpec spec = busy();
  const auto sent = [](uint64_t ts, int32_t sig, int32_t code, int32_t result) {
    return make_record(EVENT_signal_generate, ts, 9,
                       rec_signal_generate{.sig = sig, .code = code, .pid = 8, .result = result});
  };
  spec.packets.push_back({.cpu = 0,
                          .records = {sent(kSecond + 70, 15, 0, 0), sent(kSecond + 72, 15, 0, 1),
                                      sent(kSecond + 73, 15, 0, 77), sent(kSecond + 74, 11, 128, 0),
                                      make_record(EVENT_signal_deliver, kSecond + 76, 8,
                                                  rec_signal_deliver{{}, 15, 0, 0, 0x401000, 0})},
                          .lost = {{.count = 3, .event_id = EVENT_signal_deliver}}});
  make({write(spec)});
  const json signals = json::parse(text())["signals"];
  ASSERT_EQ(signals["sent"]["rows"].size(), 2U);
  const json &most = signals["sent"]["rows"][0], &other = signals["sent"]["rows"][1];
  EXPECT_EQ(most["signal"], "SIGTERM");
  EXPECT_EQ(most["from"]["comm"], "nine");
  EXPECT_EQ(most["to"]["comm"], "</script><b>");
  EXPECT_EQ(most["count"], 3);
  EXPECT_EQ(most["first_ns"], kSecond + 70);
  EXPECT_EQ(most["results"], json::parse(R"({"delivered":1,"ignored":1,"other":1})"));
  EXPECT_EQ(other["signal"], "SIGSEGV");
  EXPECT_EQ(other["from"], "kernel");
  const json& received = signals["received"]["rows"][0];
  EXPECT_EQ(received["pid"], 8);
  EXPECT_EQ(received["handled"], 1);
  EXPECT_EQ(signals["lost"], 3);
}

TEST_F(HtmlReport, HasTimelines) {
  make({write(busy())});
  const json data = json::parse(text()), &timeline = data["timeline"];
  const json& run = timeline["run"]["lanes"][0];
  EXPECT_EQ(run["cpu"], 0);
  EXPECT_EQ(run["gap"], json::parse("[10]")) << "from the beginning of the window";
  EXPECT_EQ(run["ns"], json::parse("[40]"));
  EXPECT_EQ(run["joined"], json::array());
  EXPECT_EQ(timeline["tasks"][run["what"][0].get<size_t>()],
            json::parse(R"({"tid":8,"pid":8,"comm":"</script><b>"})"));
  const json& thread = timeline["threads"]["lanes"][0];
  EXPECT_EQ(thread["tid"], 8);
  EXPECT_EQ(thread["ran_ns"], 40);
  EXPECT_EQ(thread["states"]["gap"], json::parse("[10]"));
  EXPECT_EQ(thread["states"]["ns"], json::parse("[40]"));
  EXPECT_EQ(thread["states"]["what"], json::parse("[0]"));
  const json& call = thread["calls"];
  EXPECT_EQ(call["gap"], json::parse("[20]"));
  EXPECT_EQ(call["ns"], json::parse("[20]"));
  EXPECT_EQ(timeline["syscalls"][call["what"][0].get<size_t>()], "openat");
  EXPECT_EQ(timeline["unknown"]["lanes"][0]["ns"], json::parse("[10]"));
  EXPECT_EQ(timeline["losses"]["lanes"][0]["cpu"], 1);
  EXPECT_EQ(timeline["losses"]["lanes"][0]["joined"], json::parse("[0,5,0,5]"));
  EXPECT_EQ(timeline["lost_events"], json::parse(R"(["kmalloc"])"));
  EXPECT_EQ(timeline["run"]["of"], 1);
  EXPECT_EQ(timeline["run"]["grain_ns"], 0);
}

TEST_F(HtmlReport, HasTheStatesOfThreadsWithoutCallsThoseThatRanLongestFirst) {
  TraceSpec spec = busy();
  spec.packets = {
      {.cpu = 0,
       .records = {change_at(kSecond + 10, 0, 9), change_at(kSecond + 20, 9, 8),
                   make_record(EVENT_sched_wakeup, kSecond + 30, 8, rec_sched_wakeup{.pid = 9}),
                   change_at(kSecond + 50, 8, 9), change_at(kSecond + 55, 9, 0)},
       .lost = {}}};
  make({write(spec)});
  const json data = json::parse(text()), &threads = data["timeline"]["threads"];
  ASSERT_EQ(threads["lanes"].size(), 2U);
  EXPECT_EQ(threads["lanes"][0]["tid"], 8);
  const json& states = threads["lanes"][1]["states"];
  EXPECT_EQ(states["gap"], json::parse("[10,0,0,0,0]"));
  EXPECT_EQ(states["ns"], json::parse("[10,10,20,5,45]"));
  EXPECT_EQ(states["what"], json::parse("[0,2,1,0,2]"));
  EXPECT_EQ(threads["calls"]["of"], 0);
}

TEST_F(HtmlReport, HasThreadsThatOnlyWaited) {
  TraceSpec spec = busy();
  spec.packets = {
      {.cpu = 0,
       .records = {make_record(EVENT_sched_wakeup, kSecond + 30, 0, rec_sched_wakeup{.pid = 9}),
                   change_at(kSecond + 40, 0, 9),
                   change_at(kSecond + 50, 8, 0)},  // until when 9 ran is not in the trace
       .lost = {}}};
  make({write(spec)});
  const json data = json::parse(text()), &lanes = data["timeline"]["threads"]["lanes"];
  ASSERT_EQ(lanes.size(), 1U);
  EXPECT_EQ(lanes[0]["tid"], 9);
  EXPECT_EQ(lanes[0]["ran_ns"], 0);
  EXPECT_EQ(lanes[0]["states"]["gap"], json::parse("[30]"));
  EXPECT_EQ(lanes[0]["states"]["ns"], json::parse("[10]"));
  EXPECT_EQ(lanes[0]["states"]["what"], json::parse("[1]"));
}

TEST_F(HtmlReport, HasOnlyChosenEvents) {
  make({write(busy())}, {"sys_enter", "sys_exit"});
  const json data = json::parse(text());
  EXPECT_EQ(data["summary"]["total"]["events"], 2);
  EXPECT_EQ(data["timeline"]["run"]["of"], 0);
  EXPECT_EQ(data["timeline"]["threads"]["calls"]["of"], 1);
  EXPECT_EQ(data["timeline"]["losses"]["lanes"], json::array());
}

TEST_F(HtmlReport, LimitsTableRowsToTop) {
  TraceSpec spec = busy();
  spec.packets = {{.cpu = 0, .records = {}}};
  for (uint64_t i = 0; i < 70; ++i) {
    const uint64_t at = kSecond + i;
    for (const Bytes& record : {enter_at(at), leave_at(at),
                                make_record(EVENT_sched_wakeup, at, 8, rec_sched_wakeup{.pid = 9}),
                                change_at(at, 8, 9), change_at(at, 9, 8)})
      spec.packets[0].records.push_back(record);
  }
  // Six threads send 64 signals each.
  for (int32_t sig = 1; sig <= 64; ++sig)
    for (const uint32_t from : {8U, 9U, 10U, 11U, 12U, 13U})
      spec.packets[0].records.push_back(make_record(EVENT_signal_generate, kSecond + 99, from,
                                                    rec_signal_generate{.sig = sig, .pid = 8}));
  make({write(spec)});
  const json data = json::parse(text());
  EXPECT_EQ(data["signals"]["sent"]["rows"].size(), 300U);
  EXPECT_EQ(data["signals"]["sent"]["of"], 384U);
  EXPECT_EQ(data["sched"]["longest"].size(), 70U);
  EXPECT_EQ(data["syscalls"]["slowest"].size(), 70U);
}

TEST_F(HtmlReport, EscapesMarkupInNames) {
  make({write(busy())});
  EXPECT_THAT(text(), Not(HasSubstr("<")));
  EXPECT_THAT(text(), HasSubstr("\\u003c/script>\\u003cb>"));
}

TEST_F(HtmlReport, OverwritesNothing) {
  const std::string trace = write(busy());
  write_file(path(), "mine");
  make({trace});
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().code, ExitCode::usage);
  EXPECT_THAT(result_.error().message, HasSubstr("report.html: it exists already"));
  EXPECT_EQ(read_file(path()), "mine");
  std::filesystem::remove(path());
  write_file(path() + ".partial", "another's");
  make({trace});
  ASSERT_FALSE(result_);
  EXPECT_THAT(result_.error().message, HasSubstr("report.html.partial exists"));
  EXPECT_EQ(read_file(path() + ".partial"), "another's");
}

TEST_F(HtmlReport, IsNotWrittenIntoATrace) {
  const std::string trace = write(busy());
  make({trace}, {}, trace + "/page.html");
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().code, ExitCode::usage);
  EXPECT_THAT(result_.error().message,
              HasSubstr("page.html: " + trace + " is a trace, which nobody may add files to"));
  EXPECT_FALSE(std::filesystem::exists(trace + "/page.html"));
}

TEST_F(HtmlReport, LeavesNothingBehindWhenItFails) {
  make({directory_.path() / "nowhere"});
  EXPECT_FALSE(result_);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(HtmlReport, ShowsTheReadablePartOfADamagedTrace) {
  const std::string trace = write(busy());
  std::filesystem::resize_file(trace + "/ctf/cpu1", 20);
  make({trace});
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().code, ExitCode::data);
  const json data = json::parse(text());
  EXPECT_EQ(data["summary"]["total"]["events"], 5);
  EXPECT_THAT(data["caveats"].dump(), HasSubstr("could not be read"));
}

TEST_F(HtmlReport, HasTheStacksOfSamplesAndSleeps) {
  make({write(stacked_trace())});
  ASSERT_TRUE(result_) << result_.error().message;
  const json stacks = json::parse(text())["stacks"];
  const auto lines = [&](const char* kind) {
    std::string out;
    const json& points = stacks[kind];
    for (size_t i = 0; i < points["ts"].size(); ++i) {
      out += fmt::format("{} on {}, {}:", points["ts"][i].get<uint64_t>() / kMillisecond,
                         points["cpu"][i].get<uint32_t>(),
                         stacks["owners"][points["owner"][i].get<size_t>()].get<std::string>());
      for (const json& function : stacks["stacks"][points["stack"][i].get<size_t>()])
        out += " " + stacks["functions"][function.get<size_t>()].get<std::string>();
      out += "\n";
    }
    return out;
  };
  EXPECT_EQ(
      lines("samples"),
      "0 on 0, nginx 812: [ended early: no frame pointer] [0x402000] [0x401000]\n"
      "10 on 0, nginx 812: [ended early: no frame pointer] [0x402000] [0x401000] ext4_read [ext4]\n"
      "20 on 0, nginx 812: [ended early: no frame pointer] [0x401000] ext4_read [ext4]\n"
      "40 on 0, kworker/0:1 57 (kernel thread): ext4_read [ext4]\n");
  EXPECT_EQ(lines("sleeps"),
            "50 on 1, nginx 812: [ended early: no frame pointer] [0x402000] [0x401000] "
            "do_nanosleep schedule\n");
  EXPECT_EQ(stacks["sleeps"]["ns"], json{101 * kMillisecond});
  EXPECT_EQ(stacks["samples"]["of"], 4);
  EXPECT_FALSE(stacks["samples"].contains("waker"));
  const json& waker = stacks["sleeps"]["waker"];
  ASSERT_EQ(waker.size(), 1U);
  EXPECT_EQ(stacks["owners"][waker[0].get<size_t>()], "nginx 812") << "its thread 813";
  const json& woken_by = stacks["stacks"][stacks["sleeps"]["waker_stack"][0].get<size_t>()];
  EXPECT_EQ(stacks["functions"][woken_by.back().get<size_t>()], "try_to_wake_up");
  EXPECT_EQ(stacks["caveats"], json::array());
  ASSERT_EQ(stacks["pids"].size(), stacks["owners"].size());
  EXPECT_EQ(stacks["pids"][waker[0].get<size_t>()], 812);
  EXPECT_EQ(stacks["samples"]["ends"]["user"]["broken"], 3);
}

TEST_F(HtmlReport, HasNoStacksWhereTheTraceHasNone) {
  make({write(busy())});
  EXPECT_FALSE(json::parse(text()).contains("stacks"));
}

}  // namespace
}  // namespace ktraced::test
