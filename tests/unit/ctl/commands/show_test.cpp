// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/commands/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "unit/support/schema.h"
#include "unit/support/stacked_trace.h"
#include "unit/support/trace_directory.h"
#include "unit/support/uneven_snapshot.h"

namespace ktraced::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Show : public ::testing::Test {
 protected:
  static Bytes kfree_at(uint64_t ts, uint32_t tid) {
    return make_record(EVENT_kfree, ts, tid, rec_kfree{.call_site = kAddress, .ptr = 1});
  }
  // Threads 8 and 9 on two CPUs, a second apart, with a loss.
  std::string write(const std::string& name, uint64_t start = kSecond) {
    TraceSpec spec{
        .schema = built_schema(),
        .packets = {{.cpu = 0, .records = {kfree_at(start, 8), kfree_at(start + 2 * kSecond, 8)}},
                    {.cpu = 1,
                     .records = {kfree_at(start + kSecond, 9)},
                     .lost = {{.count = 5, .event_id = EVENT_kmalloc}}}},
        .names = {task_name(8, 1, 8, "eight"), task_name(9, 1, 9, "nine")},
        .symbols = {{kAddress, "put_pid+0x1/0x2"}},
        .begin_ns = start,
        .end_ns = start + 2 * kSecond};
    write_trace(directory_.path() / name, spec);
    return directory_.path() / name;
  }
  // Lines as "tid@seconds comm symbol", losses as "-count@seconds".
  std::string show(ShowCommand command) {
    command.format = OutputFormat::json;
    run(std::move(command));
    std::string out;
    std::istringstream text(out_);
    for (std::string line; std::getline(text, line);) {
      json event = json::parse(line);
      uint64_t seconds = event["ts"].get<uint64_t>() / kSecond;
      if (event.contains("lost"))
        out += fmt::format("-{}@{};", event["lost"].get<int>(), seconds);
      else
        out += fmt::format("{}@{} {} {};", event["tid"].get<int>(), seconds,
                           event["comm"].get<std::string>(),
                           event["args"]["call_site_symbol"].get<std::string>());
    }
    return out;
  }
  void run(const ShowCommand& command) {
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    result_ = run_show(command, {});
    out_ = ::testing::internal::GetCapturedStdout();
    err_ = ::testing::internal::GetCapturedStderr();
  }
  static ShowCommand of(std::vector<std::string> directories) {
    ShowCommand command;
    command.directories = std::move(directories);
    return command;
  }

  static constexpr uint64_t kAddress = 0xffffffff81000001;
  TempDirectory directory_;
  Result<> result_;
  std::string out_, err_;
};

TEST_F(Show, ShowsAllOfEachCpuAndHowFarTheyReachBack) {
  const std::string path = write_uneven_snapshot(directory_.path() / "uneven");
  run(of({path}));
  EXPECT_TRUE(result_);
  EXPECT_THAT(err_, StartsWith("ktracectl: 36 events shown, 0 lost"));
  EXPECT_THAT(err_, HasSubstr("snapshot of test-host, 1.000 s, 5.000 s on the CPU that reaches "
                              "furthest back, complete\n"));
}

TEST_F(Show, ShowsNamesSymbolsAndLossesInOrder) {
  EXPECT_EQ(show(of({write("a")})),
            "8@1 eight put_pid+0x1/0x2;-5@2;9@2 nine put_pid+0x1/0x2;8@3 eight put_pid+0x1/0x2;");
  EXPECT_TRUE(result_);
  EXPECT_THAT(err_, HasSubstr("3 events shown, 5 lost"));
  EXPECT_THAT(err_, HasSubstr("recording of test-host, 2.000 s, complete"));
}

TEST_F(Show, NamesTheEventsOfFieldsThatSelectNothing) {
  ShowCommand command = of({write("a")});
  command.selection.where = {"error == ENOENT"};
  run(command);
  EXPECT_TRUE(result_);
  EXPECT_THAT(
      err_,
      StartsWith(
          "ktracectl: no event is selected by --where 'error == ENOENT' "
          "('error' is a field of signal_deliver, signal_generate, sys_completed, sys_exit)\n"));
}

TEST_F(Show, RefusesConditionsThatItsEventsCannotMeet) {
  ShowCommand command = of({write("a")});
  command.selection.events = {"sched_switch"};
  command.selection.syscalls = {"openat"};
  run(command);
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().code, ExitCode::usage);
  EXPECT_THAT(result_.error().message,
              HasSubstr("--syscall openat concerns no event of --event sched_switch"));
  command.selection = {.errors = {"ENOENT"}};
  command.format = OutputFormat::kmemtrace;
  run(command);
  ASSERT_FALSE(result_);
  EXPECT_THAT(result_.error().message,
              HasSubstr("--format kmemtrace cannot use --error ENOENT: it concerns none of its "
                        "events (kmalloc, kfree, "));
  command.format = OutputFormat::process;
  run(command);
  EXPECT_TRUE(result_) << result_.error().message;
}

TEST_F(Show, SelectsNothingOfAnEventThatWasEnabledAndHadNoHit) {
  const TraceSpec spec{.schema = built_schema(), .begin_ns = kSecond, .end_ns = 2 * kSecond};
  const auto path = directory_.path() / "enabled";
  auto writer = begin_trace(path, spec);
  Manifest manifest = manifest_of(*writer, spec);
  manifest.config = json::parse(
      R"({"events": ["kfree"], "changes": [{"ns": 5, "config": {"events": ["skb:kfree_skb"]}}]})");
  check(writer->finish(manifest, {}));
  ShowCommand command = of({write("other"), path});
  for (const char* event : {"skb:kfree_skb", "skb:*", "skb"}) {
    command.selection = {.events = {event}};
    run(command);
    ASSERT_TRUE(result_) << result_.error().message;
    EXPECT_EQ(out_.find("kfree_skb"), std::string::npos);
    EXPECT_THAT(err_, HasSubstr(fmt::format("no event is selected by --event {}\n", event)));
  }
  command.selection = {.cpus = {1}, .where = {"cpu == 0"}};
  command.selection.events = {"skb:kfree_skb"};
  run(command);
  EXPECT_TRUE(result_) << "its fields are not known";
  command.selection = {.events = {"skb:kfree_skc"}};
  run(command);
  ASSERT_FALSE(result_);
  EXPECT_THAT(result_.error().message, HasSubstr("unknown event or group 'skb:kfree_skc'"));
}

TEST_F(Show, SelectsAndEndsLikeStream) {
  auto trace = write("a");
  ShowCommand command = of({trace});
  command.selection.pids = {9};
  EXPECT_EQ(show(command), "-5@2;9@2 nine put_pid+0x1/0x2;");
  command = of({trace});
  command.selection.events = {"kfree"};
  command.selection.comms = {"ei*"};
  EXPECT_EQ(show(command), "8@1 eight put_pid+0x1/0x2;8@3 eight put_pid+0x1/0x2;");
  command = of({trace});
  command.count = 2;
  EXPECT_EQ(show(command), "8@1 eight put_pid+0x1/0x2;-5@2;9@2 nine put_pid+0x1/0x2;");
  command = of({trace});
  command.duration_s = 1.5;  // of the trace
  EXPECT_EQ(show(command), "8@1 eight put_pid+0x1/0x2;-5@2;9@2 nine put_pid+0x1/0x2;");
  command = of({trace});
  command.selection.events = {"kfre"};
  run(command);
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().code, ExitCode::usage);
  EXPECT_THAT(result_.error().message, HasSubstr("kfree"));
}

TEST_F(Show, ReportsLossesThatAnEmptySelectionMayBeDueTo) {
  const std::string none =
      "ktracectl: no event is selected by --pid 7 (no process or thread has this id)";
  ShowCommand command = of({write("a")});
  command.selection.pids = {7};
  run(command);
  EXPECT_THAT(err_, StartsWith(none + ", but 5 events were lost that might have been\n"));
  command.selection.events = {"kfree"};  // of which none was lost
  run(command);
  EXPECT_THAT(err_, StartsWith(none + "\n"));
  command = of({write("b")});
  command.selection.pids = {7};
  command.times.until = *parse_time_point("1.5");  // before the loss
  run(command);
  EXPECT_THAT(err_, StartsWith(none + " within --until 1.5\n"));
}

TEST_F(Show, NamesTimesWithoutAnyEvent) {
  ShowCommand command = of({write("a")});
  command.times.since = *parse_time_point("1.3");
  command.times.until = *parse_time_point("1.4");
  run(command);
  EXPECT_THAT(err_, StartsWith("ktracectl: no event is selected by --since 1.3 --until 1.4\n"));
  command.selection.pids = {7};
  run(command);
  EXPECT_THAT(err_, StartsWith("ktracectl: no event is selected by --since 1.3 --until 1.4\n"));
}

TEST_F(Show, SaysWhichOptionSelectsNothing) {
  const auto path = write("a");
  const auto error_of = [&](const SelectionArgs& selection) {
    ShowCommand command = of({path});
    command.selection = selection;
    run(command);
    EXPECT_TRUE(result_);
    return err_.substr(0, err_.find('\n'));
  };
  const std::string none = "ktracectl: no event is selected by ";
  EXPECT_EQ(error_of({.events = {"kfree"}, .comms = {"eigth"}}),
            none + "--comm eigth (no task has this name; did you mean 'eight'?)");
  EXPECT_EQ(error_of({.events = {"kfree"}, .pids = {8}, .uids = {77}}),
            none + "--uid 77 (no task is of this user; there are tasks of 0, 1000)");
  EXPECT_EQ(error_of({.events = {"kfree"}, .cpus = {7}}),
            none + "--cpu 7 (the trace is of CPUs 0, 1)");
  EXPECT_EQ(error_of({.events = {"kfree"}, .comms = {"eight"}, .cpus = {1}}),
            none + "--comm eight --cpu 1 together");
  EXPECT_EQ(error_of({.events = {"sys_exit"}}), none + "--event sys_exit");
}

TEST_F(Show, TextEqualsThatOfStream) {
  run(of({write("a")}));
  EXPECT_THAT(out_, StartsWith("# tracer: nop\n"));
  EXPECT_THAT(out_, HasSubstr("eight-8       [000] .....     1.000000: kfree: "
                              "call_site=put_pid+0x1/0x2 ptr=0000000000000001\n"
                              "CPU:1 [LOST 5 EVENTS]\n"));
}

TEST_F(Show, CountsOnlyEventsThatTheFormatShows) {
  ShowCommand command = of({write("a")});
  command.format = OutputFormat::kmemtrace_minimal;
  command.count = 2;
  run(command);
  EXPECT_THAT(out_, StartsWith("#\n# ALLOC  TYPE  "));
  EXPECT_THAT(out_, HasSubstr("# lost 5 kmalloc on CPU 1\n"));
  EXPECT_THAT(out_, HasSubstr("0x0000000000000001        put_pid\n"));
  EXPECT_THAT(err_, HasSubstr("2 events shown, 5 lost"));
  command.format = OutputFormat::process;
  run(command);
  EXPECT_EQ(out_, "");
  EXPECT_THAT(err_, HasSubstr("0 events shown, 0 lost"));
}

TEST_F(Show, ReadsSeveralDirectoriesAsOneHistory) {
  auto later = write("later", 10 * kSecond), earlier = write("earlier");
  EXPECT_EQ(show(of({later, earlier})),
            "8@1 eight put_pid+0x1/0x2;-5@2;9@2 nine put_pid+0x1/0x2;8@3 eight put_pid+0x1/0x2;"
            "8@10 eight put_pid+0x1/0x2;-5@11;9@11 nine put_pid+0x1/0x2;"
            "8@12 eight put_pid+0x1/0x2;");
  ShowCommand command = of({later, earlier});
  command.count_only = true;
  run(command);
  EXPECT_EQ(json::parse(out_),
            json::parse(R"({"events":6,"lost":10,"seconds":11.0,"by_event":{"kfree":6}})"));
}

TEST_F(Show, ReportsIncompleteUnfinishedAndDamagedTraces) {
  TraceSpec spec{.schema = built_schema(), .packets = {{.cpu = 0, .records = {kfree_at(1, 8)}}}};
  auto path = directory_.path() / "t";
  auto writer = begin_trace(path, spec);
  Manifest manifest = manifest_of(*writer, spec);
  manifest.incomplete_because = {"7 kfree events were lost"};
  check(writer->finish(manifest, {}));
  run(of({path}));
  EXPECT_TRUE(result_);
  EXPECT_THAT(err_, HasSubstr("incomplete: 7 kfree events were lost"));

  std::filesystem::resize_file(path / "ctf/cpu0", 100);
  run(of({path}));
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().code, ExitCode::data);

  ShowCommand partial = of({begin_trace(directory_.path() / "u", spec)->keep_unfinished()});
  run(partial);
  EXPECT_FALSE(result_);
  partial.partial = true;
  run(partial);
  EXPECT_TRUE(result_);
  EXPECT_THAT(err_, HasSubstr("unfinished"));
  EXPECT_THAT(err_, HasSubstr("1 events shown"));
}

TEST_F(Show, EscapesControlCharactersOfATracesManifest) {
  TraceSpec spec{.schema = built_schema(), .packets = {{.cpu = 0, .records = {kfree_at(1, 8)}}}};
  spec.origin.host = "a\x1b[2J";
  auto path = directory_.path() / "t";
  auto writer = begin_trace(path, spec);
  Manifest manifest = manifest_of(*writer, spec);
  manifest.incomplete_because = {"b\x1b]0;x\x07", "c\n\u009b"};
  check(writer->finish(manifest, {}));
  run(of({path}));
  EXPECT_THAT(err_, HasSubstr("recording of a\\x1b[2J, "));
  EXPECT_THAT(err_, HasSubstr("incomplete: b\\x1b]0;x\\x07; c\\x0a\\xc2\\x9b\n"));
}

class ShowPrevious : public Show {
 protected:
  ShowPrevious() {
    write("first one", kSecond);
    write("second", 3 * kSecond);
    set("second", {{"kind", "snapshot"}, {"previous", "first one"}});
  }
  void set(const std::string& name, const json& members) {
    const auto path = directory_.path() / name / "manifest.json";
    json manifest = json::parse(read_file(path));
    manifest.update(members);
    write_file(path, manifest.dump());
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (directory_.path() / name).string();
  }
  // What is said about it when the second one is read.
  std::string said(std::vector<std::string> directories) {
    run(of(std::move(directories)));
    EXPECT_TRUE(result_);
    const size_t at = err_.find("what came before");
    return at == std::string::npos ? "" : err_.substr(at, err_.find('\n', at) - at);
  }
};

TEST_F(ShowPrevious, NamesTheSnapshotBeforeAndTheCommandThatShowsBoth) {
  const std::string expected =
      fmt::format("what came before is in first one: ktracectl show '{}' {}", path("first one"),
                  path("second"));
  EXPECT_EQ(said({path("second")}), expected);
  EXPECT_EQ(said({path("second") + "/"}), expected);
  EXPECT_EQ(said({path("first one")}), "") << "it has none";
  EXPECT_EQ(said({path("first one"), path("second")}), "") << "both are read";
}

TEST_F(ShowPrevious, NamesAllSnapshotsInARowBeforeIt) {
  const json end = json::parse(read_file(path("second") + "/manifest.json"))["end_ns"];
  write("third", end.get<uint64_t>());
  set("third", {{"kind", "snapshot"}, {"previous", "second"}, {"since_ns", end}});
  EXPECT_EQ(said({path("third")}),
            fmt::format("what came before is in first one, second: ktracectl show '{}' {} {}",
                        path("first one"), path("second"), path("third")));
  std::filesystem::remove_all(path("first one"));
  EXPECT_EQ(said({path("third")}),
            fmt::format("what came before is in second: ktracectl show {} {}", path("second"),
                        path("third")));
}

TEST_F(ShowPrevious, NamesTheSnapshotBeforeTheCurrentDirectory) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(path("second"));
  const std::string here = said({"."});
  std::filesystem::current_path(before);
  EXPECT_EQ(here, said({path("second")}));
  EXPECT_NE(here, "");
}

TEST_F(ShowPrevious, NamesTheSnapshotBeforeOneWhoseRingsHaveOverwrittenRecords) {
  const json end = json::parse(read_file(path("first one") + "/manifest.json"))["end_ns"];
  set("second", {{"since_ns", end}, {"begin_ns", end.get<uint64_t>() + 1}});
  EXPECT_NE(said({path("second")}), "");
  set("second", {{"since_ns", end.get<uint64_t>() + 1}});
  EXPECT_EQ(said({path("second")}), "");
}

TEST_F(ShowPrevious, SaysNothingOfASnapshotThatIsNotBesideIt) {
  std::filesystem::rename(path("first one"), path("moved"));
  EXPECT_EQ(said({path("second")}), "");
  std::filesystem::create_directory(path("x"));
  set("second", {{"previous", "moved"}});
  EXPECT_NE(said({path("second")}), "");
  for (const char* hostile :
       {"./moved", "x/../moved", "../moved", "/", ".", "..", "", "second", "no\nsuch"}) {
    set("second", {{"previous", hostile}});
    EXPECT_EQ(said({path("second")}), "") << hostile;
  }
}

TEST_F(ShowPrevious, SaysNothingOfAnotherSnapshotWithThatName) {
  set("first one", {{"end_ns", 2 * kSecond}});
  EXPECT_EQ(said({path("second")}), "") << "it ends earlier";
  set("first one", {{"end_ns", 3 * kSecond}, {"boot_id", "another"}});
  EXPECT_EQ(said({path("second")}), "") << "of another boot";
}

TEST_F(Show, PrintsTheFunctionsBelowAnEvent) {
  const std::string path = directory_.path() / "stacks";
  write_trace(path, stacked_trace());
  ShowCommand command = of({path});
  command.selection.events = {"kmalloc"};
  command.stacks = true;
  run(command);
  EXPECT_TRUE(result_);
  EXPECT_THAT(out_, HasSubstr("<stack trace>\n"
                              "=> ext4_read [ext4] (ffffffff81000031)\n"
                              "<user stack trace>\n"
                              "=> [0x401000]\n"
                              "=> [0x402000]\n"
                              "=> [ended early: no frame pointer]\n"));
  EXPECT_THAT(err_, HasSubstr("ktracectl: user stacks of 1 event: 0.0 % complete, "));
}

TEST_F(Show, SaysHowCompleteTheStacksAreThatItHasShown) {
  const std::string path = directory_.path() / "stacks";
  write_trace(path, stacked_trace());
  ShowCommand command = of({path});
  command.selection.events = {"cpu_sample"};
  run(command);
  EXPECT_EQ(err_.find("stacks of"), std::string::npos);
  command.stacks = true;
  for (const auto format : {OutputFormat::ftrace, OutputFormat::json}) {
    command.format = format;
    run(command);
    EXPECT_THAT(err_, HasSubstr("ktracectl: user stacks of 3 events: 0.0 % complete, 0.0 % deeper "
                                "than recorded, 100.0 % ended early\n"));
  }
}

// A call that never returns can be the end of its function.
TEST_F(Show, NamesACallOfTheKernelByTheByteBeforeItsReturnAddress) {
  const std::string path = directory_.path() / "stacks";
  TraceSpec spec = stacked_trace();
  spec.symbols[0xffffffff81000030] = "calls_panic+0x2f/0x30";
  write_trace(path, spec);
  ShowCommand command = of({path});
  command.selection.events = {"kmalloc"};
  command.stacks = true;
  run(command);
  EXPECT_THAT(out_, HasSubstr("call_site=ext4_read+0x1/0x2"));
  EXPECT_THAT(out_, HasSubstr("=> calls_panic (ffffffff81000031)\n"));
}

TEST_F(Show, SaysWhyFunctionsHaveNoNames) {
  const std::string path = directory_.path() / "stacks";
  write_trace(path, stacked_trace_of_file("/nowhere/app", "0123", 0x2000));
  ShowCommand command = of({path});
  command.selection.events = {"kmalloc"};
  command.stacks = true;
  run(command);
  EXPECT_THAT(out_, HasSubstr("<user stack trace>\n"
                              "=> app+0x2000 (401000)\n"
                              "=> app+0x3000 (402000)\n"));
  EXPECT_THAT(err_, HasSubstr("/nowhere/app"));
}

TEST_F(Show, NamesCodeThatTheProcessHadMade) {
  const std::string path = directory_.path() / "stacks";
  write_trace(path, stacked_trace_of_jit());
  ShowCommand command = of({path});
  command.selection.events = {"kmalloc"};
  command.stacks = true;
  run(command);
  EXPECT_THAT(out_, HasSubstr("<user stack trace>\n"
                              "=> sum /srv/app.js:10 [jit] (401000)\n"
                              "=> run [jit] (402000)\n"));
}

// The stack of the event is written before it.
TEST_F(Show, FindsStacksOutsideTheWindow) {
  const std::string path = directory_.path() / "stacks";
  write_trace(path, stacked_trace());
  ShowCommand command = of({path});
  command.selection.events = {"kmalloc"};
  command.stacks = true;
  command.times.last_s = 0.845;
  run(command);
  EXPECT_THAT(out_, HasSubstr("=> ext4_read [ext4] (ffffffff81000031)\n"));
}

}  // namespace
}  // namespace ktraced::test
