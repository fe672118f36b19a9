// SPDX-License-Identifier: BSD-2-Clause
// The daemon's own recording of the stream under faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "harness/client/stream.h"
#include "harness/client/stream_output.h"
#include "harness/disks/tmpfs.h"
#include "harness/machine/cgroups.h"
#include "harness/machine/temp_dir.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::SizeIs;

// Expects all 1000 calls of a process there, in traces without a gap.
void expect_all_calls(const fs::path& directory, pid_t pid) {
  const std::vector<fs::path> traces = traces_in(directory);
  expect_gapless(traces);
  EXPECT_EQ(show_calls(traces, pid).numbers, from_to(1, 1000));
}

TEST(StreamOutputFault, ContinuesAndReportsLossesAfterAFullDisk) {
  Tmpfs disk("size=512m");
  WaitingTruth first({"numbered", "1000"}), last({"numbered", "1000"});
  WaitingTruth much({"numbered", "0"});
  Daemon daemon(for_processes({first.pid(), last.pid(), much.pid()},
                              output_config(disk.path(), {{"max_file_mb", 400}})));
  first.act();
  wait_until_on_disk(daemon, disk.path());
  disk.fill("filler");
  Stream stream(daemon, {"--event", "task_rename"});
  much.go();  // until the queue is full
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["lost_events"] > 0; }));
  const uint64_t calls = much.finish()["count"].get<uint64_t>() + 2000;
  const json failing = output_status(daemon);
  EXPECT_EQ(failing["failing"], true);
  EXPECT_THAT(failing["last_error"].get<std::string>(), HasSubstr("No space left on device"));
  EXPECT_THAT(daemon.ctl_ok({"status"}), HasSubstr("No space left on device"));
  EXPECT_EQ(daemon.call("status")["state"], "running");
  stream.finish();  // other subscribers are still served
  fs::remove(disk.path() / "filler");
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["failing"] == false; }));
  last.act();
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["queued_bytes"] == 0; }));
  const uint64_t lost = output_status(daemon)["lost_events"];
  const uint64_t missed = daemon.event_status("sys_enter")["missed"].get<uint64_t>() +
                          daemon.event_status("sys_exit")["missed"].get<uint64_t>();
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_TRUE(daemon.logged("recording continues"));

  const auto traces = traces_in(disk.path());
  ASSERT_THAT(traces, SizeIs(1));
  const json manifest = manifest_of(traces.front());
  EXPECT_FALSE(manifest["complete"]);
  EXPECT_GE(manifest["lost"], lost);
  // `show` reports losses where they happened, although --pid excludes other events.
  const ShownCalls shown = show_calls(traces, last.pid(), {"--pid", std::to_string(last.pid())});
  EXPECT_EQ(shown.numbers, from_to(1, 1000));
  EXPECT_EQ(shown.lost, manifest["lost"]);
  EXPECT_EQ(numbers_in(traces.front(), first.pid()), from_to(1, 1000));
  // Each call makes two records, and nothing else was lost; see expect_all_but_missed().
  const uint64_t expected = manifest["records"].get<uint64_t>() + shown.lost;
  EXPECT_LE(expected, 2 * calls);
  EXPECT_GE(expected + missed, 2 * calls) << missed;
}

TEST(StreamOutputFault, BeginsWhenTheDirectoryBecomesWritable) {
  Tmpfs disk("size=64m");
  disk.make_read_only();
  WaitingTruth truth({"numbered", "1000"});
  Daemon daemon(for_processes({truth.pid()}, output_config(disk.path() / "d")));
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["failing"] == true; }));
  EXPECT_THAT(output_status(daemon)["last_error"].get<std::string>(),
              HasSubstr("cannot make the directory " + disk.path().string() + "/d"));
  truth.act();
  disk.remount("rw");
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["failing"] == false; }));
  EXPECT_EQ(daemon.stop().exit_code, 0);
  const std::string log = daemon.log();
  EXPECT_EQ(log.find("cannot make the directory"), log.rfind("cannot make the directory"))
      << "reported once";
  expect_all_calls(disk.path() / "d", truth.pid());
}

// Do all threads wait for something to do?
bool is_idle(pid_t process) {
  const std::set<long> waits = {SYS_epoll_wait, SYS_epoll_pwait, SYS_futex, SYS_poll, SYS_ppoll};
  return std::ranges::all_of(
      fs::directory_iterator(fmt::format("/proc/{}/task", process)), [&](const auto& task) {
        long number = -1;  // of the system call; none, while it runs
        return std::ifstream(task.path() / "syscall") >> number && waits.contains(number);
      });
}

// Its rings would not fit into the control group.
class StreamOutputWithoutMemory : public testing::Test {
 protected:
  // Expects a reload that turns it on to fail with this message, and the next one, which asks for
  // less, to succeed.
  void expect_refused(const Command& wrapper, const std::string& message, bool filter_applied) {
    const TempDir directory;
    WaitingTruth truth({"numbered", "1000"});
    Daemon daemon(json::object(), wrapper);
    json config = for_processes({truth.pid()}, output_config(directory.path() / "d"));
    config["stream"]["total_mb"] = 1 << 20;
    config["stream"]["buffer_kb"] = 131072;
    daemon.write_config(config);
    // The kernel ends processes of the group of which a thread needs memory while a ring takes it.
    ASSERT_TRUE(eventually([&] { return is_idle(daemon.pid()); }));
    const json error = daemon.call_error("reload");
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr(message));
    EXPECT_EQ(daemon.call("filter.show").dump().contains(std::to_string(truth.pid())),
              filter_applied);
    config["stream"]["buffer_kb"] = 1024;
    daemon.write_config(config);
    daemon.call("reload");
    truth.act();
    EXPECT_EQ(daemon.stop().exit_code, 0);
    expect_all_calls(directory.path() / "d", truth.pid());
  }

  MemoryCgroup group{uint64_t{100} << 20};
};

TEST_F(StreamOutputWithoutMemory, IsRefusedBeforeAnythingIsApplied) {
  expect_refused(group.wrapper(), "the memory limit of 100 MiB of the control group", false);
}

TEST_F(StreamOutputWithoutMemory, IsNotAppliedAloneIfTheLimitIsHidden) {
  expect_refused(group.hidden_wrapper(),
                 "stream.output is not applied, but everything else of the configuration is in "
                 "use; the next reload tries again: cannot make a stream ring",
                 true);
}

// The new sizes are those of sessions to come.
TEST_F(StreamOutputWithoutMemory, GetsNoLargerRingsFromTheReloadThatTurnsItOff) {
  const TempDir directory;
  json config = for_processes({::getpid()}, output_config(directory.path() / "d"));
  config["stream"]["total_mb"] = 1 << 20;
  config["stream"]["buffer_kb"] = 64;
  Daemon daemon(config, group.wrapper());
  config["stream"].erase("output");
  config["stream"]["buffer_kb"] = 131072;
  daemon.write_config(config);
  EXPECT_TRUE(RpcConnection(daemon.socket()).call("reload").contains("result"));
  EXPECT_EQ(output_status(daemon)["enabled"], false);
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

TEST(StreamOutputFault, DelaysNeitherStopNorReload) {
  Tmpfs disk("size=64m");
  TempDir directory;
  WaitingTruth first({"numbered", "1000"}), second({"numbered", "1000"});
  const std::vector<pid_t> pids = {first.pid(), second.pid()};
  Daemon daemon(for_processes(pids, output_config(disk.path() / "d")));
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["trace"].is_string(); }));
  disk.fill("filler");
  first.act();
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["failing"] == true; }));
  daemon.write_config(for_processes(pids, output_config(directory.path() / "d")));
  daemon.call("reload");
  second.act();
  ASSERT_TRUE(eventually([&] { return !traces_in(directory.path() / "d", true).empty(); }));
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_TRUE(daemon.logged("stays unfinished"));
  expect_all_calls(directory.path() / "d", second.pid());
}

TEST(StreamOutputFault, BeginsAnotherTraceWhenTheCurrentOneIsRemoved) {
  TempDir directory;
  WaitingTruth truth({"numbered", "1000"});
  Daemon daemon(for_processes({truth.pid()}, output_config(directory.path() / "d")));
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["trace"].is_string(); }));
  // Renames first: files removed one by one would be created again.
  fs::rename(directory.path() / "d", directory.path() / "gone");
  ASSERT_TRUE(eventually([&] { return !traces_in(directory.path() / "d", true).empty(); }));
  truth.act();
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_TRUE(daemon.logged("was removed while it was written"));
  expect_all_calls(directory.path() / "d", truth.pid());
}

TEST(StreamOutputFault, RefusesTheDirectoryOfAnotherDaemon) {
  TempDir directory;
  const json config = for_processes({::getpid()}, output_config(directory.path() / "d"));
  Daemon first(config);
  ASSERT_TRUE(eventually([&] { return output_status(first)["trace"].is_string(); }));
  Daemon second(config);
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
