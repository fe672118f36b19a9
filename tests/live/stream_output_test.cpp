// The daemon's own recording of the stream, "stream.output".
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <list>
#include <map>
#include <numeric>
#include <sstream>

#include "harness/daemon.h"
#include "harness/stream.h"
#include "harness/tmpfs.h"
#include "harness/trace_files.h"
#include "harness/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// So large that nothing is lost in a ring, however late it is read.
constexpr int kRingKb = 65536;

// Records getpriority(), whose calls the ground truth numbers, into `directory`.
json config_with(const fs::path& directory, json output = json::object()) {
  output["directory"] = directory;
  return {{"events", {{"syscalls", {{"only", {"getpriority"}}}}}},
          {"stream", {{"buffer_kb", kRingKb}, {"output", std::move(output)}}}};
}

json config_without() {
  return {{"events", {{"syscalls", {{"only", {"getpriority"}}}}}},
          {"stream", {{"buffer_kb", kRingKb}}}};
}

std::vector<uint64_t> from_to(uint64_t first, uint64_t last) {
  std::vector<uint64_t> numbers(last - first + 1);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

// The trace directories there, by age; those called `.partial` only if asked for.
std::vector<fs::path> traces_in(const fs::path& directory, bool unfinished = false) {
  std::vector<fs::path> traces;
  std::error_code none_yet;
  for (const auto& entry : fs::directory_iterator(directory, none_yet))
    if ((entry.path().extension() == ".partial") == unfinished) traces.push_back(entry.path());
  std::ranges::sort(traces);
  return traces;
}

// What `ktracectl show` makes of traces: the n of the getpriority(0, n) calls of a process, in
// the order they are shown, and the events lost.
struct Shown {
  std::vector<uint64_t> numbers;
  uint64_t lost = 0;
};

Shown show(const std::vector<fs::path>& traces, pid_t pid, const Command& options = {}) {
  Command command = {kClientProgram, "show", "--format", "json"};
  command.insert(command.end(), options.begin(), options.end());
  for (const fs::path& trace : traces) command.push_back(trace);
  const Finished finished = run(command, "", 120s);
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  Shown shown;
  std::istringstream text(finished.out);
  for (std::string line; std::getline(text, line);) {
    const json event = json::parse(line);
    if (event.contains("lost"))
      shown.lost += event["lost"].get<uint64_t>();
    else if (event["event"] == "sys_enter" && event["pid"] == pid)
      shown.numbers.push_back(numbers_of(event, "args")[1]);
  }
  return shown;
}

uint64_t lost_in(const std::vector<fs::path>& traces) {
  uint64_t lost = 0;
  for (const fs::path& trace : traces) lost += manifest_of(trace)["lost"].get<uint64_t>();
  return lost;
}

// Every trace is whole, and each begins where the one before ends.
void expect_gapless(const std::vector<fs::path>& traces) {
  uint64_t end = 0;
  for (const fs::path& trace : traces) {
    const json manifest = manifest_of(trace);
    EXPECT_TRUE(manifest["complete"]) << trace << manifest["incomplete_because"];
    EXPECT_EQ(manifest["kind"], "recording");
    if (end != 0) {
      EXPECT_EQ(manifest["begin_ns"], end + 1) << trace;
    }
    end = manifest["end_ns"];
  }
}

json output_status(Daemon& daemon) { return daemon.call("status")["stream"]["output"]; }

TEST(StreamOutput, HoldsEveryCallOnceAcrossRotations) {
  constexpr size_t kTraces = 8;
  Tmpfs disk("size=1g");
  json config = config_with(disk.path(), {{"max_file_mb", 2}, {"max_files", 1000}});
  config["stream"]["max_latency_ms"] = 1;
  Daemon daemon(config);
  daemon.disable({"sys_exit"});
  WaitingTruth first({"numbered", "0"}), second({"numbered", "0"});
  daemon.set_filter({{"pid", {first.pid(), second.pid()}}});
  first.go();
  second.go();
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["files"] >= kTraces; }, 60s));
  const std::map<pid_t, uint64_t> calls = {{first.pid(), first.finish()["count"]},
                                           {second.pid(), second.finish()["count"]}};
  EXPECT_EQ(daemon.stop().exit_code, 0);

  EXPECT_THAT(traces_in(disk.path(), true), IsEmpty());
  const std::vector<fs::path> traces = traces_in(disk.path());
  EXPECT_GE(traces.size(), kTraces);
  EXPECT_EQ(lost_in(traces), 0U);
  expect_gapless(traces);
  for (const auto& [pid, count] : calls) {
    // By our own reader, in its order; and file by file, so that a number in two traces shows.
    EXPECT_EQ(show(traces, pid).numbers, from_to(1, count));
    std::vector<uint64_t> all;
    for (const fs::path& trace : traces) {
      const auto numbers = numbers_in(trace, pid);
      all.insert(all.end(), numbers.begin(), numbers.end());
    }
    std::ranges::sort(all);
    EXPECT_EQ(all, from_to(1, count));
  }
  const Finished babeltrace = run({"babeltrace2", traces.front()}, "", 120s);
  EXPECT_EQ(babeltrace.exit_code, 0);
  EXPECT_EQ(babeltrace.err, "");
  EXPECT_EQ(static_cast<uint64_t>(std::ranges::count(babeltrace.out, '\n')),
            manifest_of(traces.front())["records"]);
}

TEST(StreamOutput, KeepsTheNewestTracesAndNamesTheirTasks) {
  constexpr uint64_t kCalls = 9500;  // nearly fill a trace
  Tmpfs disk("size=256m");
  std::list<WaitingTruth> callers;
  for (int i = 0; i < 8; ++i) callers.emplace_back(Command{"numbered", std::to_string(kCalls)});
  Daemon daemon(config_with(disk.path(), {{"max_file_mb", 1}, {"max_files", 3}}));
  for (json last, now; WaitingTruth & caller : callers) {
    caller.act();
    ASSERT_TRUE(eventually([&] {
      now = output_status(daemon)["trace"];
      return now.is_string() && now != last;
    }));
    last = now;
  }
  EXPECT_EQ(daemon.stop().exit_code, 0);
  const std::vector<fs::path> traces = traces_in(disk.path());
  EXPECT_THAT(traces, SizeIs(3));
  EXPECT_THAT(daemon.log(), HasSubstr("stream.output.max_files"));
  expect_gapless(traces);
  EXPECT_EQ(show(traces, callers.back().pid()).numbers, from_to(1, kCalls));
  // Their names were told long before the first of these began.
  const Finished one = run({kClientProgram, "show", "--format", "json", "--comm", "truth",
                            "--count", "1", traces.front()});
  EXPECT_THAT(one.out, HasSubstr("\"comm\":\"truth\"")) << one.err;
}

TEST(StreamOutput, IsToldByStatusAndGoesOnBesideSubscribers) {
  TempDir directory;
  Daemon daemon(config_with(directory.path() / "made/by/itself"));
  WaitingTruth truth({"numbered", "1000"});
  Stream stream(daemon);
  truth.act();
  EXPECT_THAT(stream.finish().events("sys_enter", truth.pid()), SizeIs(1000));
  json output;
  ASSERT_TRUE(eventually([&] {
    output = output_status(daemon);
    return output["bytes"] > 1000 * 64 && output["queued_bytes"] == 0;
  })) << output;
  EXPECT_EQ(output["enabled"], true);
  EXPECT_EQ(output["directory"], (directory.path() / "made/by/itself").string());
  EXPECT_EQ(output["files"], 1);
  EXPECT_EQ(output["lost_events"], 0);
  EXPECT_EQ(output["failing"], false);
  EXPECT_EQ(output["last_error"], nullptr);
  EXPECT_TRUE(fs::exists(directory.path() / "made/by/itself" /
                         (output["trace"].get<std::string>() + ".partial")));
  EXPECT_THAT(daemon.ctl_ok({"status"}), HasSubstr("recording to"));
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_EQ(show(traces_in(directory.path() / "made/by/itself"), truth.pid()).numbers,
            from_to(1, 1000));
}

TEST(StreamOutput, IsTurnedOnAndOffAndMovedByReload) {
  TempDir directory;
  const fs::path here = directory.path() / "here", there = directory.path() / "there";
  Daemon daemon(config_without());
  WaitingTruth before({"numbered", "100"}), first({"numbered", "1000"}),
      second({"numbered", "2000"}), after({"numbered", "100"});
  before.act();
  auto reload_with = [&](const json& config) {
    daemon.write_config(config);
    EXPECT_EQ(daemon.call("reload")["changed"], json::array({"stream"}));
  };
  EXPECT_EQ(output_status(daemon), json({{"enabled", false}}));
  reload_with(config_with(here));
  first.act();
  reload_with(config_with(there));
  second.act();
  reload_with(config_without());
  after.act();
  EXPECT_EQ(output_status(daemon), json({{"enabled", false}}));
  EXPECT_EQ(daemon.call("status")["stream"]["on"], false);
  ASSERT_TRUE(eventually([&] { return !traces_in(there).empty(); }));

  std::vector<fs::path> traces = traces_in(here);
  ASSERT_THAT(traces, SizeIs(1));
  ASSERT_THAT(traces_in(there), SizeIs(1));
  traces.push_back(traces_in(there).front());
  expect_gapless(traces);
  EXPECT_THAT(show(traces, before.pid()).numbers, IsEmpty());
  EXPECT_EQ(show(traces, first.pid()).numbers, from_to(1, 1000));
  EXPECT_EQ(show(traces, second.pid()).numbers, from_to(1, 2000));
  EXPECT_THAT(show(traces, after.pid()).numbers, IsEmpty());
}

TEST(StreamOutput, TellsWhatWasTracedWhenThatChanges) {
  TempDir directory;
  Daemon daemon(config_with(directory.path() / "d"));
  WaitingTruth first({"numbered", "1000"}), unseen({"numbered", "1000"}),
      last({"numbered", "1000"});
  first.act();
  daemon.call("pause");
  unseen.act();
  daemon.call("resume");
  daemon.enable({"process"});
  last.act();
  EXPECT_EQ(daemon.stop().exit_code, 0);
  const auto traces = traces_in(directory.path() / "d");
  expect_gapless(traces);
  ASSERT_THAT(traces, SizeIs(1));
  EXPECT_EQ(show(traces, first.pid()).numbers, from_to(1, 1000));
  EXPECT_THAT(show(traces, unseen.pid()).numbers, IsEmpty());
  EXPECT_EQ(show(traces, last.pid()).numbers, from_to(1, 1000));
  const json config = manifest_of(traces.front())["config"];
  EXPECT_EQ(config["state"], "running");
  const json& changes = config["changes"];
  EXPECT_EQ(changes[0]["config"]["state"], "paused");
  EXPECT_EQ(changes[1]["config"]["state"], "running");
  EXPECT_LT(changes[0]["ns"], changes[1]["ns"]);
  EXPECT_EQ(changes.back()["config"]["state"], "running");
  EXPECT_THAT(changes.back()["config"]["events"].dump(), HasSubstr("sched_process_exit"));
}

TEST(StreamOutput, TellsWhatAResetDiscarded) {
  TempDir directory;
  // Nothing is read for ten seconds unless somebody asks.
  json config = config_with(directory.path() / "d");
  config["stream"]["max_latency_ms"] = 10'000;
  Daemon daemon(config);
  WaitingTruth truth({"numbered", "10000"});
  daemon.set_filter({{"pid", {truth.pid()}}});
  truth.act();
  const uint64_t discarded = daemon.call("reset")["discarded"];
  EXPECT_GT(discarded, 0U);
  EXPECT_EQ(daemon.stop().exit_code, 0);
  const auto traces = traces_in(directory.path() / "d");
  ASSERT_THAT(traces, SizeIs(1));
  const json manifest = manifest_of(traces.front());
  EXPECT_EQ(manifest["lost"], discarded);
  EXPECT_FALSE(manifest["complete"]);
  EXPECT_EQ(show(traces, truth.pid()).numbers.size() * 2 + discarded, 20'000U);
}

TEST(StreamOutput, OfAKilledDaemonStaysReadableAndTheNextOneGoesOn) {
  TempDir directory;
  const fs::path traces_here = directory.path() / "d";
  Daemon daemon(config_with(traces_here, {{"max_files", 3}}));
  WaitingTruth before({"numbered", "1000"}), during({"numbered", "2000"}),
      after({"numbered", "3000"});
  before.act();
  // On the disk, as far as a process can see.
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["bytes"] > 1000 * 64; }));
  daemon.end(SIGKILL);
  during.act();
  ASSERT_THAT(traces_in(traces_here, true), SizeIs(1));
  daemon.start();
  after.act();
  EXPECT_TRUE(eventually([&] { return output_status(daemon)["files"] == 2; }));
  EXPECT_EQ(daemon.stop().exit_code, 0);

  const auto left = traces_in(traces_here, true);
  ASSERT_THAT(left, SizeIs(1)) << "what is history stays";
  EXPECT_THAT(daemon.log(), HasSubstr(left.front().string()));
  EXPECT_THAT(daemon.log(), HasSubstr("show --partial"));
  EXPECT_EQ(show(left, before.pid(), {"--partial"}).numbers, from_to(1, 1000));
  const auto traces = traces_in(traces_here);
  EXPECT_EQ(show(traces, during.pid()).numbers, from_to(1, 2000));
  EXPECT_EQ(show(traces, after.pid()).numbers, from_to(1, 3000));
}

TEST(StreamOutput, OfAPersistentDaemonGoesOnInTheNextOnesExactlyOnce) {
  TempDir directory;
  json config = config_with(directory.path() / "d");
  config["persist"] = true;
  Daemon daemon(config);
  WaitingTruth truth({"numbered", "0", "20"});
  truth.go();
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(50ms);
    EXPECT_EQ(daemon.stop().exit_code, 0);
    std::this_thread::sleep_for(50ms);
    daemon.start();
  }
  const uint64_t count = truth.finish()["count"];
  config["persist"] = false;
  daemon.write_config(config);
  daemon.call("reload");
  EXPECT_EQ(daemon.stop().exit_code, 0);
  const auto traces = traces_in(directory.path() / "d");
  EXPECT_THAT(traces, SizeIs(4));
  EXPECT_EQ(lost_in(traces), 0U);
  EXPECT_EQ(show(traces, truth.pid()).numbers, from_to(1, count));
}

// Makes a file that takes all the room there is.
void fill(const fs::path& file) {
  Fd fd(::open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  off_t size = 0;
  for (off_t step : {1 << 20, 4096})
    while (::posix_fallocate(fd.get(), size, step) == 0) size += step;
}

TEST(StreamOutput, OfAFullDiskGoesOnWhenThereIsRoomAndTellsWhatWasLost) {
  Tmpfs disk("size=512m");
  Daemon daemon(config_with(disk.path(), {{"max_file_mb", 400}}));
  WaitingTruth first({"numbered", "1000"}), last({"numbered", "1000"});
  WaitingTruth much({"numbered", "700000"});
  daemon.set_filter({{"pid", {first.pid(), last.pid(), much.pid()}}});
  first.act();
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["bytes"] > 1000 * 64; }));
  fill(disk.path() / "filler");
  Stream stream(daemon, {"--event", "task_rename"});
  much.act();  // more than may wait
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["lost_events"] > 0; }, 30s));
  const json failing = output_status(daemon);
  EXPECT_EQ(failing["failing"], true);
  EXPECT_THAT(failing["last_error"].get<std::string>(), HasSubstr("No space left on device"));
  EXPECT_THAT(daemon.ctl_ok({"status"}), HasSubstr("No space left on device"));
  EXPECT_EQ(daemon.call("status")["state"], "running");
  stream.finish();  // others are served as ever
  fs::remove(disk.path() / "filler");
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["failing"] == false; }));
  last.act();
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["queued_bytes"] == 0; }, 30s));
  const uint64_t lost = output_status(daemon)["lost_events"];
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_THAT(daemon.log(), HasSubstr("recording goes on"));

  const auto traces = traces_in(disk.path());
  ASSERT_THAT(traces, SizeIs(1));
  const json manifest = manifest_of(traces.front());
  EXPECT_FALSE(manifest["complete"]);
  EXPECT_GE(manifest["lost"], lost);
  // Told in their place, whatever else is left out.
  const Shown shown = show(traces, last.pid(), {"--pid", std::to_string(last.pid())});
  EXPECT_EQ(shown.numbers, from_to(1, 1000));
  EXPECT_EQ(shown.lost, manifest["lost"]);
  EXPECT_EQ(numbers_in(traces.front(), first.pid()), from_to(1, 1000));
  // Each call makes two records, and nothing else was lost.
  EXPECT_EQ(manifest["records"].get<uint64_t>() + shown.lost, 2 * 702'000U);
}

TEST(StreamOutput, OfADirectoryThatCannotBeWrittenBeginsWhenItCan) {
  Tmpfs disk("size=64m");
  disk.make_read_only();
  Daemon daemon(config_with(disk.path() / "d"));
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["failing"] == true; }));
  EXPECT_THAT(output_status(daemon)["last_error"].get<std::string>(),
              HasSubstr("cannot make the directory " + disk.path().string() + "/d"));
  WaitingTruth truth({"numbered", "1000"});
  truth.act();
  disk.remount("rw");
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["failing"] == false; }));
  EXPECT_EQ(daemon.stop().exit_code, 0);
  const std::string log = daemon.log();
  EXPECT_EQ(log.find("cannot make the directory"), log.rfind("cannot make the directory"))
      << "told once";
  const auto traces = traces_in(disk.path() / "d");
  expect_gapless(traces);
  EXPECT_EQ(show(traces, truth.pid()).numbers, from_to(1, 1000));
}

TEST(StreamOutput, ThatFailsHoldsUpNeitherTheEndNorAReload) {
  Tmpfs disk("size=64m");
  TempDir directory;
  Daemon daemon(config_with(disk.path() / "d"));
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["trace"].is_string(); }));
  fill(disk.path() / "filler");
  WaitingTruth first({"numbered", "1000"}), second({"numbered", "1000"});
  first.act();
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["failing"] == true; }));
  daemon.write_config(config_with(directory.path() / "d"));
  daemon.call("reload");
  second.act();
  ASSERT_TRUE(eventually([&] { return !traces_in(directory.path() / "d", true).empty(); }));
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_THAT(daemon.log(), HasSubstr("stays unfinished"));
  const auto traces = traces_in(directory.path() / "d");
  expect_gapless(traces);
  EXPECT_EQ(show(traces, second.pid()).numbers, from_to(1, 1000));
}

TEST(StreamOutput, OfATraceThatIsRemovedMeanwhileBeginsAnother) {
  TempDir directory;
  Daemon daemon(config_with(directory.path() / "d"));
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["trace"].is_string(); }));
  fs::remove_all(directory.path() / "d");
  ASSERT_TRUE(eventually([&] { return !traces_in(directory.path() / "d", true).empty(); }));
  WaitingTruth truth({"numbered", "1000"});
  truth.act();
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_THAT(daemon.log(), HasSubstr("was removed while it was written"));
  const auto traces = traces_in(directory.path() / "d");
  expect_gapless(traces);
  EXPECT_EQ(show(traces, truth.pid()).numbers, from_to(1, 1000));
}

TEST(StreamOutput, OfTwoDaemonsInOneDirectoryIsRefusedToTheSecond) {
  TempDir directory;
  Daemon first(config_with(directory.path() / "d"));
  ASSERT_TRUE(eventually([&] { return output_status(first)["trace"].is_string(); }));
  Daemon second(config_with(directory.path() / "d"));
  ASSERT_TRUE(eventually([&] { return output_status(second)["failing"] == true; }));
  EXPECT_THAT(output_status(second)["last_error"].get<std::string>(),
              HasSubstr("another ktraced writes to"));
  EXPECT_EQ(first.stop().exit_code, 0);
  EXPECT_TRUE(eventually([&] { return output_status(second)["failing"] == false; }));
  EXPECT_EQ(second.stop().exit_code, 0);
  EXPECT_THAT(traces_in(directory.path() / "d"), SizeIs(2));
}

}  // namespace
}  // namespace ktraced::live
