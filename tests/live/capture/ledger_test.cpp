// SPDX-License-Identifier: BSD-2-Clause
// The next daemon also counts hits that the kernel missed before, and those of programs that no
// longer exist.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>

#include "harness/client/probes.h"
#include "harness/client/stream.h"
#include "harness/machine/bpf_view.h"
#include "harness/machine/timer_interrupts.h"
#include "harness/traces/flight.h"
#include "harness/traces/missed.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"
#include "kernel/pins/ledger.h"
#include "kernel/pins/pin_root.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;

TEST(Ledger, OutlivesTheDaemonThatPinnedIt) {
  const fs::path root = "/sys/fs/bpf/ledger-" + std::to_string(::getpid());
  auto opened = PinRoot::open(root, PinRoot::IfMissing::make);
  ASSERT_TRUE(opened) << opened.error().message;
  auto pins = Pins::open(*opened, "object-1");
  ASSERT_TRUE(pins) << pins.error().message;
  {
    const Ledger ledger = Ledger::open(&*pins, 2, 3);
    EXPECT_FALSE(ledger.adopted());
    EXPECT_EQ(ledger.retired_misses()[300], 0U);
    ledger.retired_misses()[300] = 7;
    ledger.banks()[2].end = 8;
    ledger.stream_cpus()[1].written[1].back() = 9;
  }
  {
    const Ledger ledger = Ledger::open(&*pins, 2, 3);
    EXPECT_TRUE(ledger.adopted());
    EXPECT_EQ(ledger.retired_misses()[300], 7U);
    EXPECT_EQ(ledger.retired_misses()[301], 0U);
    EXPECT_EQ(ledger.banks()[2].end, 8U);
    EXPECT_EQ(ledger.stream_cpus()[1].written[1].back(), 9U);
  }
  {
    const Ledger other = Ledger::open(&*pins, 2, 40);
    EXPECT_FALSE(other.adopted()) << "it has another form";
    EXPECT_EQ(other.retired_misses()[300], 0U);
  }
  pins->remove();
  (*opened)->remove_if_empty();
  EXPECT_FALSE(fs::exists(root));
}

// The program of the first probe calls the function that the second one probes. The kernel misses
// that hit, and counts it from 6.12 on.
TEST(Probe, ReportsMissesOfARemovedProbeInTheNextDaemonsSnapshot) {
  Daemon daemon(flight_config());
  add(daemon, "p:outer __x64_sys_getpriority");
  add(daemon, "p:inner bpf_ktime_get_boot_ns");
  run_truth({"numbered", "1000"});
  const auto missed = probe(daemon, "kprobes:inner")["missed"].get<uint64_t>();
  daemon.call("probe.clear");
  daemon.end(SIGKILL);
  daemon.start();
  const json snapshot = daemon.call("snapshot.take");
  EXPECT_EQ(snapshot["complete"], missed == 0) << snapshot;
  const json manifest = manifest_of(snapshot["path"].get<std::string>());
  EXPECT_GE(manifest["missed"].value("kprobes:inner", uint64_t{0}), missed) << manifest["missed"];
}

// Without a recorder, the status of an event has the sum of the clients.
TEST(Ledger, HasNoCountsOfTheClientsOfAKilledDaemon) {
  Daemon daemon(json{{"events", json::object()}, {"flight", {{"enabled", false}}}});
  const auto recorded = [&] {
    return daemon.event_status("sys_enter")["recorded"].get<uint64_t>();
  };
  const Stream client(daemon, {"--event", "sys_enter"});
  ASSERT_TRUE(eventually([&] { return recorded() > 0; }));
  daemon.end(SIGKILL);
  daemon.start();
  EXPECT_EQ(recorded(), 0U);
  EXPECT_EQ(daemon.event_status("sys_enter")["filtered"], 0);
}

constexpr const char* kMissing = "kmem_cache_alloc";

// Allocates, and takes timer interrupts that allocate: those that come while the event's program
// runs are missed.
void allocate_and_be_interrupted(std::chrono::milliseconds time) {
  const pid_t child = ::fork();
  if (child == 0) {
    take_timer_interrupts();
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end)
      for (int i = 0; i < 100; ++i) ::close(::open("/dev/null", O_RDONLY));
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
}

class SessionMisses : public testing::Test {
 protected:
  uint64_t missed_of(const std::string& session) {
    const json counts = daemon.call("session.show", {{"session", session}})["counts"];
    return counts.contains(kMissing) ? counts[kMissing]["missed"].get<uint64_t>() : 0;
  }
  // Of the event, by all programs and in all sessions.
  uint64_t missed_by_the_kernel() { return program_counts(daemon.pid(), kMissing).missed; }
  // Until the session has missed hits.
  void provoke(const std::string& session) {
    const uint64_t before = missed_of(session);
    const auto more = [&] {
      allocate_and_be_interrupted(std::chrono::milliseconds(200));
      return missed_of(session) > before;
    };
    EXPECT_TRUE(!misses_are_counted() || eventually(more));
  }
  json take_manifest() {
    return manifest_of(daemon.call("snapshot.take")["path"].get<std::string>());
  }

  // Without catchers, which would record most of them; and without the calls, which would overwrite
  // the time of the misses.
  static json config() {
    json config = flight_config();
    config["events"] = {{"process", true}};
    config["exact"] = {{"kmem", false}};
    return config;
  }

  Daemon daemon{config()};
};

TEST_F(SessionMisses, OfAClientAreNotThoseOfTheRecorder) {
  Stream client(daemon, {"--name", "mine", "--event", kMissing, "--comm", "nobody"});
  provoke("mine");
  EXPECT_EQ(missed_of("recorder"), 0U);
  EXPECT_FALSE(take_manifest()["missed"].contains(kMissing));
  client.finish();
  EXPECT_EQ(missed_of("recorder"), 0U);

  daemon.enable({kMissing});
  provoke("recorder");
  daemon.disable({kMissing});
  const uint64_t own = missed_of("recorder");
  EXPECT_EQ(take_manifest()["missed"].value(kMissing, uint64_t{0}), own);
  const uint64_t before = missed_by_the_kernel();
  Stream again(daemon, {"--name", "mine", "--event", kMissing, "--comm", "nobody"});
  const uint64_t counted = missed_of("mine");
  EXPECT_LE(counted, missed_by_the_kernel() - before) << "counts from zero";
  provoke("mine");
  EXPECT_EQ(missed_of("recorder"), own);
  again.finish();
}

TEST_F(SessionMisses, OfTheRecorderContinueInTheNextDaemon) {
  daemon.enable({kMissing});
  provoke("recorder");
  daemon.disable({kMissing});
  const uint64_t own = missed_of("recorder");
  Stream client(daemon, {"--name", "mine", "--event", kMissing, "--comm", "nobody"});
  provoke("mine");
  daemon.end(SIGKILL);
  daemon.start();
  EXPECT_EQ(missed_of("recorder"), own);
  EXPECT_EQ(take_manifest()["missed"].value(kMissing, uint64_t{0}), own);
  daemon.enable({kMissing});
  provoke("recorder");
  EXPECT_GE(missed_of("recorder"), own);
}

}  // namespace
}  // namespace ktraced::live
