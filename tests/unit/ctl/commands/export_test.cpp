// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/commands/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "perfetto/read.h"
#include "unit/support/golden.h"
#include "unit/support/schema.h"
#include "unit/support/stacked_trace.h"
#include "unit/support/trace_directory.h"

namespace ktraced::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

// Counts each event in lines of JSON, and losses as "lost".
std::map<std::string, uint64_t> counts_of(const std::string& lines) {
  std::map<std::string, uint64_t> counts;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    const json event = json::parse(line);
    ++counts[event.contains("lost") ? "lost" : event["event"].get<std::string>()];
  }
  return counts;
}

class ExportTest : public ::testing::Test {
 protected:
  static Bytes switch_at(uint64_t ts, int from, int to) {
    return make_record(EVENT_sched_switch, ts, static_cast<uint32_t>(from),
                       rec_sched_switch{.prev_pid = from, .next_pid = to});
  }
  static Bytes kfree_at(uint64_t ts, uint32_t tid) {
    return make_record(EVENT_kfree, ts, tid, rec_kfree{.ptr = 1});
  }
  // Threads 8 and 9 on two CPUs, for two seconds, with a loss.
  fs::path write(const std::string& name, uint64_t start = kSecond) {
    const uint64_t end = start + 2 * kSecond;
    TraceSpec spec{.schema = built_schema(),
                   .packets = {{.cpu = 0,
                                .records = {kfree_at(start, 8), switch_at(start + kSecond, 8, 0),
                                            switch_at(end, 0, 9)}},
                               {.cpu = 1,
                                .records = {kfree_at(start + kSecond, 9)},
                                .lost = {{.count = 5, .event_id = EVENT_kmalloc}}}},
                   .names = {task_name(8, 1, 8, "eight"), task_name(9, 1, 9, "nine")},
                   .begin_ns = start,
                   .end_ns = end};
    write_trace(directory_.path() / name, spec);
    return directory_.path() / name;
  }
  ExportCommand to_file(std::vector<std::string> directories) const {
    ExportCommand command;
    command.directories = std::move(directories);
    command.output = out_file_;
    return command;
  }
  void run(const ExportCommand& command) {
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    result_ = run_export(command, {});
    out_ = ::testing::internal::GetCapturedStdout();
    err_ = ::testing::internal::GetCapturedStderr();
  }
  // The content of an export to the file.
  ReadTrace exported(const ExportCommand& command) {
    fs::remove(out_file_);
    run(command);
    EXPECT_TRUE(result_) << result_.error().message;
    ReadTrace trace = read_perfetto_file(out_file_);
    EXPECT_THAT(trace.faults, ElementsAre());
    return trace;
  }
  // The names of all files beside the export.
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_.path()))
      names.insert(entry.path().filename());
    return names;
  }

  TempDirectory directory_;
  fs::path out_file_ = directory_.path() / "out";
  Result<> result_;
  std::string out_, err_;
};

mode_t mode_of(const fs::path& file) {
  struct stat status{};
  EXPECT_EQ(::stat(file.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST_F(ExportTest, GivesAccessOnlyToReadersOfAllTraces) {
  const fs::path a = write("a"), b = write("b", 10 * kSecond);
  const mode_t mask = ::umask(0);
  struct Case {
    mode_t a, b, expected;
  };
  for (const Case& modes : std::initializer_list<Case>{
           {0640, 0644, 0640}, {0644, 0644, 0644}, {0600, 0666, 0600}, {0640, 0604, 0600}}) {
    ::chmod((a / "manifest.json").c_str(), modes.a);
    ::chmod((b / "manifest.json").c_str(), modes.b);
    fs::remove(out_file_);
    run(to_file({a, b}));
    EXPECT_TRUE(result_) << result_.error().message;
    EXPECT_EQ(mode_of(out_file_), modes.expected) << std::oct << modes.a << " " << modes.b;
  }
  ::umask(mask);
}

TEST_F(ExportTest, RespectsTheUmask) {
  const fs::path a = write("a");
  ::chmod((a / "manifest.json").c_str(), 0644);
  const mode_t mask = ::umask(077);
  run(to_file({a}));
  ::umask(mask);
  EXPECT_EQ(mode_of(out_file_), 0600U);
}

TEST_F(ExportTest, HasAllEventsOfTheGoldenTrace) {
  ReadTrace trace = exported(to_file({kGolden / "trace"}));
  EXPECT_EQ(trace.counts(), counts_of(read_file(kGolden / "show.json")));
  EXPECT_THAT(err_, HasSubstr("294 events exported, 0 lost"));
  EXPECT_THAT(err_, HasSubstr("recording of golden"));
  EXPECT_FALSE(trace.slices.empty());
}

TEST_F(ExportTest, CountsOnlySelectedEventsForPerfetto) {
  ExportCommand command = to_file({write("a")});
  command.selection.pids = {99999};
  exported(command);
  EXPECT_THAT(
      err_,
      HasSubstr("no event is selected by --pid 99999 (no process or thread has this id), but 5 "
                "events were lost"));
  EXPECT_THAT(err_, HasSubstr("ktracectl: 0 events exported"));
  command.selection.pids = {9};
  exported(command);
  EXPECT_THAT(err_, HasSubstr("ktracectl: 2 events exported")) << "one of its two switches";
}

TEST_F(ExportTest, WritesTheSameJsonAsShow) {
  ExportCommand command = to_file({kGolden / "trace"});
  command.form = ExportCommand::Form::json;
  run(command);
  EXPECT_TRUE(result_);
  EXPECT_EQ(read_file(out_file_), read_file(kGolden / "show.json"));
  command.output = "-";
  run(command);
  EXPECT_EQ(out_, read_file(kGolden / "show.json"));
}

TEST_F(ExportTest, WritesToStandardOutput) {
  ExportCommand command = to_file({kGolden / "trace"});
  exported(command);
  command.output = "-";
  run(command);
  EXPECT_EQ(out_, read_file(out_file_));
}

TEST_F(ExportTest, MergesDirectoriesIntoOneHistoryWithGaps) {
  const auto later = write("later", 10 * kSecond), earlier = write("earlier");
  ReadTrace trace = exported(to_file({later, earlier}));
  EXPECT_THAT(trace.clocks, ElementsAre(Pair(kSecond, testing::_), Pair(10 * kSecond, testing::_)));
  EXPECT_EQ(trace.counts()["kfree"], 4U);
  auto missing = trace.slices_on("Missing events/CPU 0");
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_EQ(std::tuple(missing[0].name, missing[0].begin, missing[0].end),
            std::tuple("nothing was recorded", 3 * kSecond, 10 * kSecond));
  EXPECT_EQ(trace.instants_named("kmalloc lost").size(), 2U);
}

TEST_F(ExportTest, SelectsLikeShowButKeepsAllSwitches) {
  ExportCommand command = to_file({write("a")});
  command.selection.pids = {9};
  EXPECT_THAT(exported(command).counts(), ElementsAre(Pair("kfree", 1), Pair("sched_switch", 2)));
  command.selection = {.events = {"kfree"}};
  ReadTrace trace = exported(command);
  EXPECT_THAT(trace.counts(), ElementsAre(Pair("kfree", 2)));
  EXPECT_TRUE(trace.instants_named("kmalloc lost").empty());
  command.selection = {.events = {"kfre"}};
  run(command);
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().code, ExitCode::usage);
  EXPECT_THAT(result_.error().message, HasSubstr("did you mean 'kfree'?"));
}

TEST_F(ExportTest, RefusesToOverwriteFiles) {
  const auto trace = write("a");
  write_file(out_file_, "mine");
  run(to_file({trace}));
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().code, ExitCode::usage);
  EXPECT_THAT(result_.error().message, HasSubstr("out: it exists already"));
  EXPECT_EQ(read_file(out_file_), "mine");
  exported(to_file({trace}));
  EXPECT_THAT(files(), ElementsAre("a", "out"));
  ExportCommand nowhere = to_file({trace});
  nowhere.output = directory_.path() / "nowhere" / "out";
  run(nowhere);
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().code, ExitCode::io);
}

TEST_F(ExportTest, RefusesToWriteIntoTraces) {
  const auto trace = write("a"), other = write("b", 10 * kSecond);
  fs::create_directory_symlink(other / "ctf", directory_.path() / "link");
  ExportCommand command = to_file({trace});
  command.form = ExportCommand::Form::json;
  for (const fs::path& place :
       {trace / "ctf" / "cpu9", trace / "out", other / "out", directory_.path() / "link" / "cpu9",
        trace / "ctf" / ".." / "out"}) {
    command.output = place;
    run(command);
    ASSERT_FALSE(result_) << place;
    EXPECT_EQ(result_.error().code, ExitCode::usage);
    EXPECT_THAT(result_.error().message, HasSubstr("is a trace, which nobody may add files to"));
    EXPECT_FALSE(fs::exists(place)) << place;
  }
  fs::create_directory(directory_.path() / "web");
  write_file(directory_.path() / "web" / "manifest.json", "{}");
  for (const fs::path& place : {directory_.path() / "web" / "out", trace / ".." / "out"}) {
    command.output = place;
    run(command);
    EXPECT_TRUE(result_) << result_.error().message;
  }
  EXPECT_THAT(files(), ElementsAre("a", "b", "link", "out", "web"));
}

TEST_F(ExportTest, FailsLikeShowAndLeavesNothingBehind) {
  const auto trace = write("a");
  fs::remove(trace / "manifest.json");
  auto show_says = [&] {
    ShowCommand command;
    command.directories = {trace};
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    auto shown = run_show(command, {});
    ::testing::internal::GetCapturedStdout();
    ::testing::internal::GetCapturedStderr();
    return shown ? "" : shown.error().message;
  };
  run(to_file({trace}));
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().message, show_says());
  EXPECT_THAT(files(), ElementsAre("a"));
}

// The readable part is there.
TEST_F(ExportTest, WritesTheReadablePartOfADamagedTrace) {
  const auto trace = write("a");
  fs::resize_file(trace / "ctf/cpu0", 100);
  run(to_file({trace}));
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().code, ExitCode::data);
  EXPECT_THAT(result_.error().message, HasSubstr("cpu0"));
  ReadTrace whole = read_perfetto_file(out_file_);
  EXPECT_THAT(whole.faults, ElementsAre());
  EXPECT_THAT(whole.counts(), ElementsAre(Pair("kfree", 1)));
}

TEST_F(ExportTest, ExportsATraceWithoutEvents) {
  TraceSpec spec{.schema = built_schema(), .packets = {{.cpu = 0}}, .begin_ns = 5, .end_ns = 9};
  write_trace(directory_.path() / "empty", spec);
  ReadTrace trace = exported(to_file({directory_.path() / "empty"}));
  EXPECT_EQ(trace.release, "6.18.44");
  EXPECT_TRUE(trace.counts().empty());
}

// With any byte of a file wrong, the output is a valid trace or nothing.
TEST_F(ExportTest, WritesAValidTraceOrNothingWhenDamaged) {
  const fs::path damaged = directory_.path() / "damaged";
  fs::copy(kGolden / "trace", damaged, fs::copy_options::recursive);
  const fs::path file = damaged / "ctf" / "cpu1";
  const std::string good = read_file(file);
  for (size_t at = 80; at < good.size(); at += 97) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0xff);
    write_file(file, bad);
    fs::remove(out_file_);
    run(to_file({damaged}));
    for (const std::string& fault : read_perfetto_file(out_file_).faults)
      ADD_FAILURE() << "byte " << at << ": " << fault;
  }
}

TEST_F(ExportTest, HasSamplesWithCallstacksInPerfetto) {
  const fs::path path = directory_.path() / "stacks";
  write_trace(path, stacked_trace());
  const ReadTrace trace = exported(to_file({path}));
  std::string samples;
  for (const ReadSample& sample : trace.samples)
    samples += fmt::format("{}/{} {} {}\n", sample.pid, sample.tid, sample.mode, sample.stack);
  EXPECT_EQ(samples,
            "812/812 2 [ended early: no frame pointer] (/[unknown]); [0x402000] (/[unknown]); "
            "[0x401000] (/[unknown])\n"
            "812/812 1 [ended early: no frame pointer] (/[unknown]); [0x402000] (/[unknown]); "
            "[0x401000] (/[unknown]); ext4_read (/ext4)\n"
            "812/813 1 [ended early: no frame pointer] (/[unknown]); [0x401000] (/[unknown]); "
            "ext4_read (/ext4)\n"
            "0/0 1 [idle] (/[unknown])\n"
            "57/57 1 ext4_read (/ext4)\n");
  EXPECT_EQ(trace.samples[1].ts, kSecond + 10 * kMillisecond);
  EXPECT_TRUE(trace.instants_named("cpu_sample").empty());
  EXPECT_THAT(err_, HasSubstr("ktracectl: user stacks of 6 events: 0.0 % complete, 0.0 % deeper "
                              "than recorded, 100.0 % ended early\n"));
}

TEST_F(ExportTest, FoldsTheStacksOfSamples) {
  const fs::path path = directory_.path() / "stacks";
  write_trace(path, stacked_trace());
  ExportCommand command = to_file({path});
  command.form = ExportCommand::Form::folded;
  run(command);
  EXPECT_TRUE(result_);
  EXPECT_EQ(read_file(out_file_),
            "kworker/0:1;ext4_read 1\n"
            "nginx;[ended early: no frame pointer];[0x401000];ext4_read 1\n"
            "nginx;[ended early: no frame pointer];[0x402000];[0x401000] 1\n"
            "nginx;[ended early: no frame pointer];[0x402000];[0x401000];ext4_read 1\n");
  EXPECT_THAT(err_, HasSubstr("ktracectl: user stacks of 3 events: 0.0 % complete, 0.0 % deeper "
                              "than recorded, 100.0 % ended early\n"));
}

TEST_F(ExportTest, NamesCodeThatProcessesHadMade) {
  const fs::path path = directory_.path() / "stacks";
  write_trace(path, stacked_trace_of_jit());
  EXPECT_EQ(exported(to_file({path})).samples.at(0).stack,
            "[ended early: no frame pointer] (/[unknown]); run (/jit); sum /srv/app.js:10 (/jit)");
  fs::remove(out_file_);
  ExportCommand command = to_file({path});
  command.form = ExportCommand::Form::folded;
  run(command);
  EXPECT_THAT(read_file(out_file_), HasSubstr(";run;sum /srv/app.js:10 1\n"));
}

TEST_F(ExportTest, FoldsTheStacksOfOtherEvents) {
  const fs::path path = directory_.path() / "stacks";
  write_trace(path, stacked_trace());
  ExportCommand command = to_file({path});
  command.form = ExportCommand::Form::folded;
  command.selection.events = {"sched_switch", "kmalloc"};
  command.selection.pids = {812};
  run(command);
  EXPECT_EQ(read_file(out_file_),
            "nginx;[ended early: no frame pointer];[0x402000];[0x401000];do_nanosleep;schedule 1\n"
            "nginx;[ended early: no frame pointer];[0x402000];[0x401000];ext4_read 1\n"
            "swapper 1\n");
  fs::remove(out_file_);
  command.selection = {};
  command.directories = {write("plain")};
  run(command);
  EXPECT_EQ(read_file(out_file_), "");
  EXPECT_THAT(err_, HasSubstr("the traces have no samples; --event takes"));
  EXPECT_THAT(err_, Not(HasSubstr("stacks of 0")));
}

}  // namespace
}  // namespace ktraced::test
