// SPDX-License-Identifier: BSD-2-Clause
// Recordings of the stream, and the output of `ktracectl show` for trace directories.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <regex>
#include <sstream>

#include "harness/client/daemon.h"
#include "harness/client/show.h"
#include "harness/machine/scale.h"
#include "harness/traces/flight.h"
#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The n of the getpriority(0, n) calls of a process, in the order they are shown.
std::vector<uint64_t> shown_numbers(const std::vector<json>& lines, pid_t pid) {
  std::vector<uint64_t> numbers;
  for (const json& line : lines)
    if (line.value("event", "") == "sys_enter" && line["pid"] == pid &&
        line["args"]["syscall"] == "getpriority")
      numbers.push_back(std::stoull(line["args"]["args"][1].get<std::string>(), nullptr, 16));
  return numbers;
}

TEST(Recording, HoldsExactlyTheEventsOfItsCommand) {
  const auto calls = static_cast<uint64_t>(scaled(50'000));
  json config = {{"events", numbered_calls()}, {"stream", {{"buffer_kb", 32768}}}};
  config["events"]["process"] = true;
  Daemon daemon(config);
  const json filter = {{"comm", {"nobody"}}, {"exclude", {{"uid", {12345}}}}};
  daemon.set_filter(filter);
  const json before = daemon.call("filter.show");
  WaitingTruth bystander({"numbered", "0", "100"});
  bystander.go();
  const std::string path = daemon.directory() / "recording";

  Finished recorded =
      daemon.ctl({"record", "-o", path, "--", kTruthProgram, "numbered", std::to_string(calls)});
  bystander.finish();
  ASSERT_EQ(recorded.exit_code, 0) << recorded.err;
  EXPECT_THAT(recorded.err, HasSubstr("complete"));
  EXPECT_EQ(daemon.call("filter.show"), before);

  const pid_t pid = truth_of(recorded)["pid"];
  Shown shown = show({path});
  EXPECT_EQ(shown.finished.exit_code, 0) << shown.finished.err;
  EXPECT_EQ(shown_numbers(shown.lines, pid), from_to(1, calls));
  EXPECT_THAT(shown_numbers(shown.lines, bystander.pid()), IsEmpty());
  uint64_t execs = 0;
  for (const json& line : shown.lines)
    if (line["event"] == "sched_process_exec") {
      ++execs;
      EXPECT_EQ(line["args"]["filename"], kTruthProgram);
      EXPECT_EQ(line["comm"], "truth");
    }
  EXPECT_EQ(execs, 1U);
  const json manifest = manifest_of(path);
  EXPECT_EQ(manifest["kind"], "recording");
  EXPECT_TRUE(complete_but_for_missed(manifest)) << manifest["incomplete_because"];
  EXPECT_EQ(manifest["records"], shown.lines.size());
  EXPECT_THAT(manifest["reason"], HasSubstr(fmt::format("numbered {}", calls)));
}

TEST(Recording, ReturnsTheExitCodeAndLeavesTheFilterInEveryCase) {
  Daemon daemon(json{{"events", numbered_calls()}});
  daemon.set_filter({{"uid", {4711}}});
  const json before = daemon.call("filter.show");
  auto record = [&](const std::string& name, Command command) {
    Command words = {"record", "-o", daemon.directory() / name, "--"};
    words.insert(words.end(), command.begin(), command.end());
    return daemon.ctl(words).exit_code;
  };
  EXPECT_EQ(record("a", {"sh", "-c", "exit 7"}), 7);
  EXPECT_EQ(record("b", {"sh", "-c", "kill -USR1 $$"}), 128 + SIGUSR1);
  EXPECT_EQ(record("c", {"/nonexistent"}), 127);
  EXPECT_FALSE(fs::exists(daemon.directory() / "c"));
  EXPECT_FALSE(fs::exists(daemon.directory() / "c.partial"));
  const fs::path taken = daemon.directory() / "taken", ran = daemon.directory() / "ran";
  fs::create_directory(taken);
  EXPECT_EQ(record("taken", {"touch", ran}), 64);
  EXPECT_FALSE(fs::exists(ran));
  EXPECT_TRUE(fs::is_empty(taken));
  EXPECT_EQ(daemon.call("filter.show"), before);

  for (int signal : {SIGTERM, SIGINT, SIGHUP}) {
    const std::string path = daemon.directory() / fmt::format("signal{}", signal);
    Process recording(daemon.ctl_command({"record", "-o", path, "--", "sleep", "100"}));
    ASSERT_TRUE(eventually([&] { return fs::exists(path + ".partial"); }));
    EXPECT_EQ(daemon.call("filter.show"), before);
    recording.send(signal);
    EXPECT_EQ(recording.wait().exit_code, 128 + SIGTERM) << "the command was asked to end";
    EXPECT_EQ(daemon.call("filter.show"), before);
    EXPECT_TRUE(complete_but_for_missed(manifest_of(path)));
  }
}

TEST(Recording, SaysThatItsCommandHasCausedNoEvent) {
  Daemon daemon(json{{"events", numbered_calls()}});
  const std::string empty = daemon.directory() / "empty", full = daemon.directory() / "full";
  const Finished nothing = daemon.ctl({"record", "-o", empty, "--", "true"});
  EXPECT_EQ(nothing.exit_code, 0) << "that of the command";
  EXPECT_THAT(nothing.err, HasSubstr("no event of true was recorded"));
  const Finished calls = daemon.ctl({"record", "-o", full, "--", kTruthProgram, "numbered", "10"});
  EXPECT_EQ(calls.exit_code, 0) << calls.err;
  EXPECT_THAT(calls.err, Not(HasSubstr("no event of")));
  const std::string all = daemon.directory() / "all", own = daemon.directory() / "own";
  const Finished others = daemon.ctl({"record", "-o", all, "--all", "--", "true"});
  EXPECT_THAT(others.err, HasSubstr("no event of true was recorded"));
  const Finished child = daemon.ctl({"record", "-o", own, "--all", "--", "/bin/sh", "-c",
                                     std::string(kTruthProgram) + " numbered 10; true"});
  EXPECT_EQ(child.exit_code, 0) << child.err;
  EXPECT_THAT(child.err, Not(HasSubstr("no event of")));
}

// timeout, at its limit or when it is signalled, signals ktracectl and at once ktracectl's process
// group.
TEST(Recording, IsFinishedUnderTimeout) {
  Daemon daemon(json{{"events", numbered_calls()}});
  daemon.set_filter({{"uid", {4711}}});
  const json before = daemon.call("filter.show");
  const std::string path = daemon.directory() / "recording";
  Command command = daemon.ctl_command({"record", "-o", path, "--", "sleep", "1000"});
  command.insert(command.begin(), {"timeout", "1000"});
  Process recording(command);
  ASSERT_TRUE(eventually([&] { return fs::exists(path + ".partial/manifest.json"); }));
  recording.send(SIGTERM);
  const Finished recorded = recording.wait();
  EXPECT_EQ(recorded.exit_code, 128 + SIGTERM) << recorded.err;
  EXPECT_EQ(daemon.call("filter.show"), before);
  EXPECT_FALSE(fs::exists(path + ".partial"));
  EXPECT_TRUE(complete_but_for_missed(manifest_of(path)));
}

// It lasts longer than the interval of progress lines, which are for terminals.
TEST(Recording, EndsCleanlyOnARepeatedSignalAndWritesNoProgressToAFile) {
  Daemon daemon(json{{"events", numbered_calls()}});
  const json before = daemon.call("filter.show");
  const std::string path = daemon.directory() / "recording";
  // The command ignores the signal, so the repeated signals arrive while the recording still runs.
  Process recording(daemon.ctl_command(
      {"record", "-o", path, "--", "sh", "-c", "trap '' TERM; sleep 1; sleep 1; sleep 1"}));
  ASSERT_TRUE(eventually([&] { return fs::exists(path + ".partial/manifest.json"); }));
  for (int i = 0; i < 3; ++i) {
    recording.send(SIGTERM);
    std::this_thread::sleep_for(50ms);
  }
  const Finished recorded = recording.wait();
  EXPECT_EQ(recorded.exit_code, 128 + SIGTERM);
  EXPECT_THAT(recorded.err, AllOf(Not(HasSubstr("\r")), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(recorded.err, HasSubstr(path + ": "));
  EXPECT_EQ(daemon.call("filter.show"), before);
  EXPECT_FALSE(fs::exists(path + ".partial"));
  EXPECT_TRUE(complete_but_for_missed(manifest_of(path)));
}

TEST(Recording, EndsCleanlyOnASignal) {
  Daemon daemon(json{{"events", numbered_calls()}});
  const std::string path = daemon.directory() / "recording";
  WaitingTruth truth({"numbered", "20000"});
  Process recording(daemon.ctl_command({"--json", "record", "-o", path, "--reason", "a test",
                                        "--pid", std::to_string(truth.pid())}));
  ASSERT_TRUE(eventually([&] { return fs::exists(path + ".partial/manifest.json"); }));
  truth.act();
  recording.send(SIGINT);
  Finished finished = recording.wait();
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(numbers_in(path, truth.pid()), from_to(1, 20'000)) << "all until the signal";
  const json result = json::parse(finished.out);
  EXPECT_TRUE(complete_but_for_missed(result)) << result;
  EXPECT_EQ(result["records"], manifest_of(path)["records"]);
  EXPECT_EQ(manifest_of(path)["reason"], "a test");
}

TEST(Recording, ShownAndLostEventsAddUpToTheCalls) {
  const auto calls = static_cast<uint64_t>(scaled(1'000'000));
  json config = {{"events", numbered_calls()}};
  config["stream"]["buffer_kb"] = 64;
  Daemon daemon(config);
  daemon.disable({"sys_exit"});
  const std::string path = daemon.directory() / "recording";
  Finished recorded =
      daemon.ctl({"record", "-o", path, "--", kTruthProgram, "numbered", std::to_string(calls)});
  ASSERT_EQ(recorded.exit_code, 0) << recorded.err;
  const pid_t pid = truth_of(recorded)["pid"];
  json counts = json::parse(run({kClientProgram, "show", "--count-only", path}).out);
  EXPECT_EQ(counts["events"].get<uint64_t>() + counts["lost"].get<uint64_t>(), calls);
  EXPECT_EQ(counts["events"], numbers_in(path, pid).size());
  const json manifest = manifest_of(path);
  EXPECT_EQ(manifest["lost"], counts["lost"]);
  EXPECT_EQ(manifest["complete"], counts["lost"] == 0);
}

TEST(Recording, HasTheSameEventsInBabeltrace) {
  json config = {{"stream", {{"buffer_kb", 32768}}}};
  for (const char* group : {"sched", "process", "syscalls", "kmem"}) config["events"][group] = true;
  Daemon daemon(config);
  const std::string path = daemon.directory() / "recording";
  const std::string work =
      fmt::format("{0} getppid {1} && {0} switch {2} 0 && {0} kmem {2} && {0} fork", kTruthProgram,
                  scaled(4000), scaled(1000));
  Finished recorded = daemon.ctl({"record", "-o", path, "--", "sh", "-c", work});
  ASSERT_EQ(recorded.exit_code, 0) << recorded.err;
  Shown ours = show({path});
  ASSERT_GT(ours.lines.size(), static_cast<size_t>(scaled(10'000)));
  Finished theirs = run({"babeltrace2", "--clock-cycles", "--no-delta", path});
  EXPECT_EQ(theirs.err, "");
  std::istringstream text(theirs.out);
  const std::regex form(R"(\[0*([0-9]+)\] \S+ (\S+): \{ cpu_id = ([0-9]+),.*tid = ([0-9]+) \}.*)");
  size_t index = 0;
  for (std::string line; std::getline(text, line); ++index) {
    std::smatch match;
    ASSERT_TRUE(std::regex_match(line, match, form)) << line;
    ASSERT_LT(index, ours.lines.size());
    const json& our = ours.lines[index];
    ASSERT_EQ(our["ts"], std::stoull(match[1])) << line;
    ASSERT_EQ(our["event"], match[2].str()) << line;
    ASSERT_EQ(our["cpu"], std::stoul(match[3])) << line;
    ASSERT_EQ(our["tid"], std::stoul(match[4])) << line;
  }
  EXPECT_EQ(index, ours.lines.size());
}

// A recording and snapshots of the same time: each call appears once.
TEST(Show, ReadsOverlappingDirectoriesAsOneHistory) {
  WaitingTruth truth({"numbered", "0", "500"});
  Daemon daemon(flight_config_for({truth.pid()}, {{"buffer_kb", 32768}}));
  const std::string recording = daemon.directory() / "recording";
  Process recorder(daemon.ctl_command({"record", "-o", recording}));
  ASSERT_TRUE(eventually([&] { return fs::exists(recording + ".partial/manifest.json"); }));
  truth.go();
  auto snapshot = [&] { return daemon.call("snapshot.take")["path"].get<std::string>(); };
  truth.sleeps(100);
  const std::string first = snapshot();
  truth.sleeps(100);
  recorder.send(SIGINT);
  ASSERT_EQ(recorder.wait().exit_code, 0);
  truth.sleeps(100);
  const uint64_t count = truth.finish()["count"];
  const std::string second = snapshot();

  EXPECT_EQ(shown_numbers(show({first, second}).lines, truth.pid()), from_to(1, count));
  Shown all = show({second, recording, first});
  EXPECT_EQ(shown_numbers(all.lines, truth.pid()), from_to(1, count));
  EXPECT_THAT(all.finished.err, HasSubstr("were in more than one trace"));
}

}  // namespace
}  // namespace ktraced::live
