// SPDX-License-Identifier: BSD-2-Clause
// The next daemon also counts hits that the kernel missed in programs that no longer exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "harness/client/probes.h"
#include "harness/traces/flight.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"
#include "kernel/pins/kept_misses.h"
#include "kernel/pins/pin_root.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;

TEST(KeptMisses, OutliveTheDaemonThatPinnedThem) {
  const fs::path root = "/sys/fs/bpf/kept-misses-" + std::to_string(::getpid());
  auto opened = PinRoot::open(root, PinRoot::IfMissing::make);
  ASSERT_TRUE(opened) << opened.error().message;
  auto pins = Pins::open(*opened, "object-1");
  ASSERT_TRUE(pins) << pins.error().message;
  {
    KeptMisses kept = KeptMisses::open(&*pins);
    EXPECT_FALSE(kept.adopted());
    EXPECT_EQ(kept.of(300), 0U);
    kept.add(300, 5);
    kept.add(300, 2);
  }
  {
    const KeptMisses kept = KeptMisses::open(&*pins);
    EXPECT_TRUE(kept.adopted());
    EXPECT_EQ(kept.of(300), 7U);
    EXPECT_EQ(kept.of(301), 0U);
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

}  // namespace
}  // namespace ktraced::live
