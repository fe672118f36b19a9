// SPDX-License-Identifier: BSD-2-Clause
// The daemon's own recording of the stream, "stream.output".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <string_view>

#include "harness/client/stream.h"
#include "harness/client/stream_output.h"
#include "harness/disks/tmpfs.h"
#include "harness/machine/scale.h"
#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

size_t count_of(std::string_view words, std::string_view text) {
  size_t count = 0;
  for (size_t at = text.find(words); at != text.npos; at = text.find(words, at + 1)) ++count;
  return count;
}

TEST(StreamOutput, HoldsEveryCallOnceAcrossRotations) {
  const auto expected = static_cast<size_t>(2 + scaled(6));
  Tmpfs disk("size=1g");
  json config = output_config(disk.path(), {{"max_file_mb", 1}, {"max_files", 1000}});
  config["stream"]["max_latency_ms"] = 1;
  // The calls have pauses, so that the rings can hold them while the daemon has no CPU.
  WaitingTruth first({"numbered", "0", "20"}), second({"numbered", "0", "20"});
  config["filter"]["pid"] = {first.pid(), second.pid()};
  Daemon daemon(config);
  daemon.disable({"sys_exit"});
  first.go();
  second.go();
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["files"] >= expected; }));
  const std::map<pid_t, uint64_t> calls = {{first.pid(), first.finish()["count"]},
                                           {second.pid(), second.finish()["count"]}};
  EXPECT_EQ(daemon.stop().exit_code, 0);

  EXPECT_THAT(traces_in(disk.path(), true), IsEmpty());
  const std::vector<fs::path> traces = traces_in(disk.path());
  EXPECT_GE(traces.size(), expected);
  EXPECT_EQ(lost_in(traces), 0U);
  expect_gapless(traces);
  const uint64_t missed = missed_in(traces, "sys_enter");
  for (const auto& [pid, count] : calls) {
    // Checks with our reader, in its order; and file by file, to find a number in two traces.
    const auto shown = show_calls(traces, pid).numbers;
    expect_all_but_missed(shown, 1, count, missed);
    std::vector<uint64_t> all;
    for (const fs::path& trace : traces) {
      const auto numbers = numbers_in(trace, pid);
      all.insert(all.end(), numbers.begin(), numbers.end());
    }
    std::ranges::sort(all);
    EXPECT_EQ(all, shown);
  }
  const Finished babeltrace = run({"babeltrace2", traces.front()});
  EXPECT_EQ(babeltrace.exit_code, 0);
  EXPECT_EQ(babeltrace.err, "");
  EXPECT_EQ(static_cast<uint64_t>(std::ranges::count(babeltrace.out, '\n')),
            manifest_of(traces.front())["records"]);
}

TEST(StreamOutput, KeepsTheNewestTracesWithTheirTaskNames) {
  Tmpfs disk("size=1g");
  // With pauses, so that nothing is dropped while the daemon has no CPU.
  WaitingTruth truth({"numbered", "0", "20"});
  json config = for_processes({truth.pid()},
                              output_config(disk.path(), {{"max_file_mb", 1}, {"max_files", 3}}));
  config["stream"]["max_latency_ms"] = 1;
  Daemon daemon(config);
  truth.go();
  // Whatever the traces contain, the first one has been removed at the end.
  ASSERT_TRUE(eventually([&] { return count_of("stream.output.max_files", daemon.log()) >= 4; }));
  const uint64_t calls = truth.finish()["count"];
  EXPECT_EQ(daemon.stop().exit_code, 0);
  const std::vector<fs::path> traces = traces_in(disk.path());
  EXPECT_THAT(traces, SizeIs(3));
  expect_gapless(traces);
  const auto numbers = show_calls(traces, truth.pid()).numbers;
  ASSERT_THAT(numbers, Not(IsEmpty()));
  EXPECT_GT(numbers.front(), 1U);
  expect_all_but_missed(numbers, numbers.front(), calls, missed_in(traces, "sys_enter"));
  // Its name was recorded long before the first of these traces began.
  const Finished one = run({kClientProgram, "show", "--format", "json", "--comm", "truth",
                            "--count", "1", traces.front()});
  EXPECT_THAT(one.out, HasSubstr("\"comm\":\"truth\"")) << one.err;
}

TEST(StreamOutput, IsShownByStatusAndRunsBesideSubscribers) {
  TempDir directory;
  WaitingTruth truth({"numbered", "1000"});
  Daemon daemon(for_processes({truth.pid()}, output_config(directory.path() / "made/by/itself")));
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
  EXPECT_EQ(show_calls(traces_in(directory.path() / "made/by/itself"), truth.pid()).numbers,
            from_to(1, 1000));
}

TEST(StreamOutput, IsEnabledDisabledAndMovedByReload) {
  TempDir directory;
  const fs::path here = directory.path() / "here", there = directory.path() / "there";
  WaitingTruth before({"numbered", "100"}), first({"numbered", "1000"}),
      second({"numbered", "2000"}), after({"numbered", "100"});
  const std::vector<pid_t> pids = {before.pid(), first.pid(), second.pid(), after.pid()};
  Daemon daemon(for_processes(pids, no_output_config()));
  before.act();
  auto reload_with = [&](const json& config) {
    daemon.write_config(for_processes(pids, config));
    EXPECT_EQ(daemon.call("reload")["changed"], json::array({"stream"}));
  };
  EXPECT_EQ(output_status(daemon), json({{"enabled", false}}));
  reload_with(output_config(here));
  first.act();
  reload_with(output_config(there));
  second.act();
  reload_with(no_output_config());
  after.act();
  EXPECT_EQ(output_status(daemon), json({{"enabled", false}}));
  EXPECT_TRUE(daemon.call("status")["sessions"].empty());
  ASSERT_TRUE(eventually([&] { return !traces_in(there).empty(); }));

  std::vector<fs::path> traces = traces_in(here);
  ASSERT_THAT(traces, SizeIs(1));
  ASSERT_THAT(traces_in(there), SizeIs(1));
  traces.push_back(traces_in(there).front());
  expect_gapless(traces);
  EXPECT_THAT(show_calls(traces, before.pid()).numbers, IsEmpty());
  EXPECT_EQ(show_calls(traces, first.pid()).numbers, from_to(1, 1000));
  EXPECT_EQ(show_calls(traces, second.pid()).numbers, from_to(1, 2000));
  EXPECT_THAT(show_calls(traces, after.pid()).numbers, IsEmpty());
}

TEST(StreamOutput, RecordsConfigChanges) {
  TempDir directory;
  WaitingTruth first({"numbered", "1000"}), unseen({"numbered", "1000"}),
      last({"numbered", "1000"});
  Daemon daemon(for_processes({first.pid(), unseen.pid(), last.pid()},
                              output_config(directory.path() / "d")));
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
  EXPECT_EQ(show_calls(traces, first.pid()).numbers, from_to(1, 1000));
  EXPECT_THAT(show_calls(traces, unseen.pid()).numbers, IsEmpty());
  EXPECT_EQ(show_calls(traces, last.pid()).numbers, from_to(1, 1000));
  const json config = manifest_of(traces.front())["config"];
  EXPECT_EQ(config["state"], "running");
  const json& changes = config["changes"];
  EXPECT_EQ(changes[0]["config"]["state"], "paused");
  EXPECT_EQ(changes[1]["config"]["state"], "running");
  EXPECT_LT(changes[0]["ns"], changes[1]["ns"]);
  EXPECT_EQ(changes.back()["config"]["state"], "running");
  EXPECT_THAT(changes.back()["config"]["events"].dump(), HasSubstr("sched_process_exit"));
}

TEST(StreamOutput, ReportsRecordsThatAResetDiscarded) {
  TempDir directory;
  WaitingTruth truth({"numbered", "10000"});
  // The drain reads nothing for ten seconds unless a client requests it.
  json config = for_processes({truth.pid()}, output_config(directory.path() / "d"));
  config["stream"]["max_latency_ms"] = 10'000;
  Daemon daemon(config);
  truth.act();
  const uint64_t discarded = daemon.call("reset")["discarded"];
  EXPECT_GT(discarded, 0U);
  EXPECT_EQ(daemon.stop().exit_code, 0);
  const auto traces = traces_in(directory.path() / "d");
  ASSERT_THAT(traces, SizeIs(1));
  const json manifest = manifest_of(traces.front());
  EXPECT_EQ(manifest["lost"], discarded);
  EXPECT_FALSE(manifest["complete"]);
  // It may have been between the beginning and the end of a call.
  EXPECT_EQ(event_counts(traces)["events"].get<uint64_t>() + discarded, 20'000U);
}

TEST(StreamOutput, StaysReadableAndContinuesAfterTheDaemonIsKilled) {
  TempDir directory;
  const fs::path traces_here = directory.path() / "d";
  WaitingTruth before({"numbered", "1000"}), during({"numbered", "2000"}),
      after({"numbered", "3000"});
  json config = output_config(traces_here, {{"max_files", 3}});
  config["filter"] = {{"pid", {before.pid(), during.pid(), after.pid()}}};
  Daemon daemon(config);
  before.act();
  // Waits until the data is on disk, as far as a process can see.
  ASSERT_TRUE(eventually([&] {
    return event_counts(traces_in(traces_here, true), {"--partial"})["events"] >= 2 * 1000;
  }));
  daemon.end(SIGKILL);
  during.act();
  ASSERT_THAT(traces_in(traces_here, true), SizeIs(1));
  daemon.start();
  after.act();
  EXPECT_TRUE(reaches([&] { return output_status(daemon)["files"].get<uint64_t>(); }, 2));
  EXPECT_EQ(daemon.stop().exit_code, 0);

  const auto left = traces_in(traces_here, true);
  ASSERT_THAT(left, SizeIs(1)) << "the unfinished trace is kept";
  EXPECT_TRUE(daemon.logged(left.front().string()));
  EXPECT_TRUE(daemon.logged("show --partial"));
  EXPECT_EQ(show_calls(left, before.pid(), {"--partial"}).numbers, from_to(1, 1000));
  const auto traces = traces_in(traces_here);
  EXPECT_EQ(show_calls(traces, during.pid()).numbers, from_to(1, 2000));
  EXPECT_EQ(show_calls(traces, after.pid()).numbers, from_to(1, 3000));
  const json after_crash = manifest_of(traces.front());
  EXPECT_EQ(after_crash["lost"], 0) << "everything read had been written to disk";
  EXPECT_THAT(after_crash["incomplete_because"].dump(), Not(HasSubstr("events")));
}

TEST(StreamOutput, ReportsTheExactLossesOfCrashes) {
  TempDir directory;
  const fs::path traces_here = directory.path() / "d";
  WaitingTruth truth({"numbered", "0"});
  json config = output_config(traces_here, {{"max_files", 100}, {"max_file_mb", 4}});
  config["filter"] = {{"pid", {truth.pid()}}};
  Daemon daemon(config);
  truth.go();
  for (int crash = 0; crash < 3; ++crash) {
    ASSERT_TRUE(eventually([&] { return output_status(daemon)["bytes"] > 0; }));
    daemon.end(SIGKILL);
    daemon.start();
  }
  const uint64_t calls = truth.finish()["count"];
  EXPECT_EQ(daemon.stop().exit_code, 0);

  const json crashed = event_counts(traces_in(traces_here, true), {"--partial"});
  const json whole = event_counts(traces_in(traces_here));
  EXPECT_EQ(crashed["events"].get<uint64_t>() + crashed["lost"].get<uint64_t>() +
                whole["events"].get<uint64_t>() + whole["lost"].get<uint64_t>(),
            2 * calls)
      << crashed << whole;
  for (const fs::path& trace : traces_in(traces_here))
    EXPECT_THAT(manifest_of(trace)["incomplete_because"].dump(), Not(HasSubstr("unknown number")));
}

TEST(StreamOutput, ContinuesExactlyOnceAfterAPersistentDaemonStops) {
  TempDir directory;
  WaitingTruth truth({"numbered", "0", "500"});
  json config = for_processes({truth.pid()}, output_config(directory.path() / "d"));
  config["persist"] = true;
  Daemon daemon(config);
  truth.go();
  for (int i = 0; i < 3; ++i) {
    truth.sleeps(50);
    EXPECT_EQ(daemon.stop().exit_code, 0);
    truth.sleeps(50);
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
  EXPECT_EQ(show_calls(traces, truth.pid()).numbers, from_to(1, count));
}

}  // namespace
}  // namespace ktraced::live
