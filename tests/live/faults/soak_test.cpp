// SPDX-License-Identifier: BSD-2-Clause
// All at once, for long: full load, snapshots, files, and sessions that come and go.
// KTRACED_SOAK_SECONDS is how long; the figures are printed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "harness/client/daemon.h"
#include "harness/machine/bpf_view.h"
#include "harness/machine/memory.h"
#include "harness/machine/scale.h"
#include "harness/traces/missed.h"

namespace ktraced::live {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kProgramNameBytes = 15;  // the kernel cuts longer ones, and then two are equal
constexpr int kParts = 6;                 // whose figures are printed
constexpr size_t kMemoryOfSessionsKb = 16 << 10;  // the allocator keeps some of what it had

long soak_seconds() {
  const char* text = std::getenv("KTRACED_SOAK_SECONDS");
  return text == nullptr ? usual_or_whole(3, 6) : std::atol(text);
}

json soak_config() {
  json config;
  config["events"] = {{"sched", true}, {"process", true}, {"signal", true}, {"syscalls", true}};
  config["flight"] = {{"enabled", true}, {"buffer_kb", 2048}, {"banks", 3}, {"max_snapshots", 4}};
  return config;
}

struct Usage {
  size_t memory_kb = 0, descriptors = 0;
  double processor_s = 0;
  Clock::time_point at;
};

Usage usage_of(pid_t pid) {
  return {.memory_kb = resident_kb_beside_rings(pid),
          .descriptors = open_descriptors(pid),
          .processor_s =
              static_cast<double>(cpu_ticks(pid)) / static_cast<double>(::sysconf(_SC_CLK_TCK)),
          .at = Clock::now()};
}

// What a daemon has after a part of the time, and its processor time of that part.
void print_part(const Usage& before, const Usage& after) {
  const double seconds = std::chrono::duration<double>(after.at - before.at).count();
  std::cout << fmt::format("{:4.0f} s: memory {} KiB, descriptors {}, {:.1f} % of a CPU\n", seconds,
                           after.memory_kb, after.descriptors,
                           100 * (after.processor_s - before.processor_s) / seconds)
            << std::flush;
}

class Soak {
 public:
  // One round: a reader that gets some events, one that goes away in the middle, a filter, a
  // recording, a snapshot.
  void round() {
    daemon_.ctl_ok({"stream", "--count", "2000", "--format", "json"});
    {
      RpcConnection stream(daemon_.socket());
      stream.call("stream.subscribe", {{"events", {"sched"}}, {"filter", json::object()}});
    }
    daemon_.set_filter({{"exclude", {{"comm", {fmt::format("nobody{}", rounds_)}}}}});
    daemon_.ctl_ok({"record", "-o", (daemon_.directory() / "recording").string(), "--duration",
                    "200ms", "--event", "process"});
    std::filesystem::remove_all(daemon_.directory() / "recording");
    const json taken = daemon_.call("snapshot.take");
    complete_ += complete_but_for_missed(taken) ? 1 : 0;
    ++rounds_;
    // All other sessions have ended.
    EXPECT_TRUE(eventually([&] { return daemon_.call("session.list")["sessions"].size() == 1; }));
  }

  void run(std::chrono::seconds pause) {
    const Process forks({"sh", "-c", "while :; do : | :; done"});
    Process calls({kTruthProgram, "load", std::to_string(std::thread::hardware_concurrency())});
    round();  // what is allocated once
    const Usage first = usage_of(daemon_.pid());
    for (int part = 1; part <= kParts; ++part)
      run_until(first.at + part * std::chrono::seconds(soak_seconds()) / kParts, pause);
    expect_steady(first, usage_of(daemon_.pid()));
    calls.close_input();
    EXPECT_EQ(calls.wait().exit_code, 0);
  }

  void run_until(Clock::time_point end, std::chrono::seconds pause) {
    const Usage before = usage_of(daemon_.pid());
    while (Clock::now() < end) {
      const auto next = Clock::now() + pause;
      round();
      std::this_thread::sleep_until(std::min(next, end));
    }
    print_part(before, usage_of(daemon_.pid()));
  }

  void expect_steady(const Usage& first, const Usage& last) {
    std::cout << fmt::format("{} snapshots, {} complete; all of it:\n", rounds_, complete_);
    print_part(first, last);
    EXPECT_EQ(complete_, rounds_);
    // A connection may just be ending.
    EXPECT_TRUE(eventually([&] { return open_descriptors(daemon_.pid()) <= first.descriptors; }));
    EXPECT_LE(last.memory_kb, first.memory_kb + kMemoryOfSessionsKb);
  }

  // The kernel counted each run of each program, and the account has each of them.
  void expect_exact_account() {
    const json before = daemon_.call("status");
    for (const auto& [event, status] : before["events"].items()) {
      if (status["enabled"] != true || event.size() > kProgramNameBytes) continue;
      daemon_.disable({event});
      ProgramCounts kernel;
      json ours;
      EXPECT_TRUE(eventually([&] {
        kernel = program_counts(daemon_.pid(), event);
        ours = daemon_.event_status(event);
        return ours["recorded"].get<uint64_t>() + ours["filtered"].get<uint64_t>() +
                   ours["dropped"].get<uint64_t>() + ours["ignored"].get<uint64_t>() ==
               kernel.runs;
      })) << event
          << ": " << kernel.runs << " runs, " << ours;
      EXPECT_EQ(ours["missed"].get<uint64_t>(), kernel.missed) << event;
      hits_ += kernel.runs;
    }
    std::cout << fmt::format("{} hits, each counted once\n", hits_);
    EXPECT_GT(hits_, 0U);
  }

  Daemon& daemon() { return daemon_; }

 private:
  RunStatistics counting_;
  Daemon daemon_{soak_config()};
  long rounds_ = 0, complete_ = 0;
  uint64_t hits_ = 0;
};

TEST(Soak, KeepsMemoryDescriptorsAndTheAccount) {
  Soak soak;
  soak.run(soak_seconds() > 60 ? std::chrono::seconds(10) : std::chrono::seconds(1));
  soak.expect_exact_account();
  EXPECT_EQ(soak.daemon().stop().exit_code, 0);
}

}  // namespace
}  // namespace ktraced::live
