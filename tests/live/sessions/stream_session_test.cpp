// SPDX-License-Identifier: BSD-2-Clause
// `ktracectl stream` has a session of its own, with what its options select.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "harness/client/stream.h"
#include "harness/machine/memory.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

// The recorder records processes alone.
json recorder_of_processes() {
  return {{"events", {{"process", true}}}, {"flight", {{"enabled", true}}}};
}

TEST(StreamSession, EnablesItsEventsForItselfAlone) {
  Daemon daemon(recorder_of_processes());
  WaitingTruth chosen({"kmem", "100"}), other({"kmem", "100"});
  Stream stream(daemon, {"--event", "kmalloc", "--pid", std::to_string(chosen.pid())});
  other.act();
  const json expected = chosen.act();
  const Trace trace = stream.finish();
  EXPECT_GT(trace.events("kmalloc", chosen.pid()).size(), 0U) << expected;
  for (const json& line : trace.lines()) {
    EXPECT_EQ(line["event"], "kmalloc");
    EXPECT_EQ(line["pid"], chosen.pid());
  }
  EXPECT_EQ(daemon.event_status("kmalloc")["enabled"], false) << "of the recorder";
  EXPECT_EQ(daemon.event_status("kmalloc")["recorded"], 0);
  EXPECT_GT(daemon.event_status("sched_process_exec")["recorded"], 0);
}

TEST(StreamSession, SaysWhichOptionSelectsNothing) {
  const json config = {{"events", {{"sched", true}}}};
  Daemon daemon(config);
  const auto error_of = [&](const std::string& option, const std::string& value) {
    return daemon.ctl({"stream", "--duration", "1s", option, value}).err;
  };
  EXPECT_THAT(error_of("--uid", "4711"), HasSubstr("no event is selected by --uid 4711\n"))
      << "the kernel has rejected them";
  EXPECT_THAT(error_of("--cpu", "9999"), HasSubstr("no event is selected by --cpu 9999\n"))
      << "the client has";
}

TEST(StreamSession, SelectsSystemCallsInTheKernelOrByFieldsInTheClient) {
  WaitingTruth truth({"numbered", "500"});
  Daemon daemon(for_processes({truth.pid()}, recorder_of_processes()));
  const std::string pid = std::to_string(truth.pid());
  Stream by_kernel(daemon, {"--event", "sys_enter", "--syscall", "getpriority", "--follow", pid});
  Stream by_client(daemon, {"--event", "sys_enter,sys_exit", "--tid", pid, "--where",
                            "event == sys_enter && nr == getpriority"});
  truth.act();
  for (Stream* stream : {&by_kernel, &by_client}) {
    const Trace trace = stream->finish();
    EXPECT_EQ(call_numbers(trace, truth.pid()), from_to(1, 500));
    EXPECT_EQ(trace.lines().size(), 500U);
  }
}

// The configuration as installed records no system call.
TEST(StreamSession, EnablesTheSystemCallsThatItSelects) {
  Daemon daemon(json{{"events", {{"sched", true}, {"process", true}, {"signal", true}}},
                     {"flight", {{"enabled", true}}}});
  WaitingTruth truth({"syscalls"});
  const std::string pid = std::to_string(truth.pid());
  Stream calls(daemon, {"--syscall", "openat", "--pid", pid});
  Stream errors(daemon, {"--error", "ENOENT", "--pid", pid});
  const std::string path = daemon.directory() / "recording";
  Process recording(daemon.ctl_command({"record", "-o", path, "--syscall", "openat"}));
  ASSERT_TRUE(eventually([&] { return fs::exists(path + ".partial/manifest.json"); }));
  truth.act();
  const Trace called = calls.finish(), failed = errors.finish();
  for (const char* event : {"sys_enter", "sys_exit"})
    EXPECT_GE(called.events(event, truth.pid()).size(), 2U) << event;
  for (const json& line : called.lines()) EXPECT_EQ(name_of(line, "nr"), "openat") << line;
  EXPECT_GE(failed.events("sys_exit", truth.pid()).size(), 1U);
  for (const json& line : failed.lines()) EXPECT_EQ(name_of(line, "ret"), "ENOENT") << line;
  recording.send(SIGINT);
  ASSERT_EQ(recording.wait().exit_code, 0);
  EXPECT_EQ(manifest_of(path)["config"]["events"], json::array({"sys_enter", "sys_exit"}));
  EXPECT_EQ(daemon.event_status("sys_enter")["enabled"], false) << "of the recorder";
}

// The rings of others still hold records.
TEST(Stream, BeginsNowBesideAnotherReader) {
  WaitingTruth before({"numbered", "1000"});
  WaitingTruth after({"numbered", "500"});
  Daemon daemon(
      for_processes({before.pid(), after.pid()},
                    {{"events", numbered_calls()}, {"stream", {{"max_latency_ms", 10'000}}}}));
  Stream first(daemon);
  before.act();
  Stream second(daemon);
  after.act();
  const Trace late = second.finish(), whole = first.finish();
  EXPECT_THAT(call_numbers(late, before.pid()), IsEmpty());
  EXPECT_EQ(call_numbers(late, after.pid()), from_to(1, 500));
  EXPECT_EQ(call_numbers(whole, before.pid()), from_to(1, 1000));
  EXPECT_EQ(call_numbers(whole, after.pid()), from_to(1, 500));
}

// What happened while there was no daemon is nobody's.
TEST(Stream, BeginsNowAfterADaemonWasKilled) {
  WaitingTruth during({"numbered", "2000"});
  WaitingTruth after({"numbered", "1000"});
  Daemon daemon(for_processes({during.pid(), after.pid()}, {{"events", numbered_calls()}}));
  Stream interrupted(daemon);
  daemon.end(SIGKILL);
  during.act();
  daemon.start();
  EXPECT_TRUE(daemon.call("session.list")["sessions"].empty());
  Stream stream(daemon);
  after.act();
  const Trace trace = stream.finish();
  EXPECT_TRUE(trace.events("sys_enter", during.pid()).empty());
  EXPECT_EQ(call_numbers(trace, after.pid()), from_to(1, 1000));
  EXPECT_EQ(trace.lost(), 0);
}

TEST(StreamSession, GivesTheMemoryOfItsRingsBack) {
  Daemon daemon(json{{"events", {{"syscalls", true}}}, {"stream", {{"buffer_kb", 256}}}});
  const size_t before = resident_kb_of_arena(daemon.pid());
  Stream stream(daemon);
  run_truth({"getppid", "20000"});
  EXPECT_TRUE(before == 0 || resident_kb_of_arena(daemon.pid()) > before);
  stream.finish();
  EXPECT_TRUE(eventually([&] { return resident_kb_of_arena(daemon.pid()) == before; }));
}

}  // namespace
}  // namespace ktraced::live
