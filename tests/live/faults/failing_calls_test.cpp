// SPDX-License-Identifier: BSD-2-Clause
// System calls of the daemon fail, by strace's injection. KTRACED_FAULT_STEP: every how many calls
// of bpf() one fails in a start of its own; 1 tries them all.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "harness/client/daemon.h"
#include "harness/traces/flight.h"
#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A command that runs the daemon as its child would be: `-D` leaves it the process of the test.
Command with_fault(const std::string& calls, const std::string& fault, const fs::path& log) {
  Command command = {"strace", "-D", "-f", "--seccomp-bpf", "-qq",
                     "-o",     log,  "-e", "trace=" + calls};
  if (!fault.empty()) command.insert(command.end(), {"-e", "inject=" + calls + ":" + fault});
  return command;
}

size_t lines_with(const fs::path& file, std::string_view text, const std::string& begin = "") {
  std::ifstream in(file);
  size_t found = 0;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(begin) && line.find(text) != std::string::npos) ++found;
  return found;
}

json config_of_faults() {
  json config = flight_config({{"buffer_kb", 64}});
  config["events"] = {{"sched", true}, {"process", true}, {"signal", true}, {"syscalls", true}};
  return config;
}

// How often the daemon's main thread calls bpf() until it answers: strace counts by thread.
size_t calls_of_a_start(const fs::path& log) {
  Daemon daemon(config_of_faults(), with_fault("bpf", "", log));
  const size_t calls = lines_with(log, "bpf(", fmt::format("{} ", daemon.pid()));
  EXPECT_EQ(daemon.stop().exit_code, 0);
  return calls;
}

std::set<fs::path> pin_directories() {
  std::set<fs::path> found;
  for (const auto& entry : fs::directory_iterator("/sys/fs/bpf")) found.insert(entry.path());
  return found;
}

// A daemon without an event says which and why; one that does not start says why. Neither leaves
// pins.
void expect_clear_outcome(const std::string& fault, const fs::path& log) {
  SCOPED_TRACE(fault);
  const auto before = pin_directories();
  try {
    Daemon daemon(config_of_faults(), with_fault("bpf", fault, log));
    const json status = daemon.call("status");
    for (const auto& [name, event] : status["events"].items())
      EXPECT_FALSE(event["available"] == false && event.value("reason", "").empty()) << name;
    daemon.call("snapshot.take");
    EXPECT_EQ(daemon.stop().exit_code, 0);
    EXPECT_FALSE(fs::exists(daemon.pins()));
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("did not come up; it wrote: "));
    EXPECT_THAT(error.what(), HasSubstr("ktraced: "));
  }
  for (const fs::path& pins : pin_directories())
    if (!before.contains(pins)) {
      ADD_FAILURE() << pins << " is left";
      fs::remove_all(pins);
    }
  EXPECT_GE(lines_with(log, "(INJECTED)"), 1U) << "once in each thread";
  EXPECT_EQ(lines_with(log, "killed by"), 0U);
}

TEST(FailingCalls, OfBpfEndInAMessageOrAnUnavailableEvent) {
  TempDir directory;
  const size_t calls = calls_of_a_start(directory.path() / "calls");
  ASSERT_GT(calls, 100U);
  const char* chosen = std::getenv("KTRACED_FAULT_STEP");
  const size_t step = chosen == nullptr ? calls / 8 : std::stoul(chosen);
  for (size_t call = 1; call <= calls; call += step)
    expect_clear_outcome(
        fmt::format("error={}:when={}", call / step % 2 == 0 ? "ENOMEM" : "EPERM", call),
        directory.path() / "log");
}

// Each snapshot is whole or fails with a message; none is left half written.
TEST(FailingCalls, OfFilesFailOneSnapshotAndNotTheNext) {
  for (const std::string calls : {"fsync", "writev", "mkdirat", "renameat"}) {
    SCOPED_TRACE(calls);
    TempDir directory;
    Daemon daemon(flight_config({{"buffer_kb", 256}}),
                  with_fault(calls, "error=EIO:when=3+5", directory.path() / "log"));
    int failed = 0;
    for (int i = 0; i < 6; ++i) {
      const json answer = RpcConnection(daemon.socket()).call("snapshot.take");
      if (answer.contains("error")) {
        ++failed;
        EXPECT_THAT(answer["error"]["message"].get<std::string>(), HasSubstr("Input/output error"));
        EXPECT_EQ(answer["error"]["data"]["exit_code"], 74);
      } else {
        EXPECT_TRUE(complete_but_for_missed(answer["result"])) << answer;
        EXPECT_TRUE(manifest_of(answer["result"]["path"].get<std::string>()).contains("schema"));
      }
    }
    EXPECT_GT(failed, 0);
    EXPECT_GT(lines_with(directory.path() / "log", "(INJECTED)"), 0U);
    for (const auto& entry : fs::directory_iterator(daemon.directory() / "snapshots"))
      EXPECT_NE(entry.path().extension(), ".partial");
    EXPECT_EQ(daemon.stop().exit_code, 0);
  }
}

}  // namespace
}  // namespace ktraced::live
