// SPDX-License-Identifier: BSD-2-Clause
// Hits that the kernel skipped at what is gone are counted by the next daemon, too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "harness/flight.h"
#include "harness/probes.h"
#include "harness/trace_files.h"
#include "harness/truth.h"
#include "kernel/kept_misses.h"
#include "kernel/pin_root.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;

TEST(KeptMisses, OutliveWhoHasPinnedThem) {
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

// The program of the first probe calls what the second one is set on: the kernel skips that hit,
// and counts it from 6.12 on.
TEST(Probe, WhatItMissedBeforeItWasRemovedIsInTheNextDaemonsSnapshot) {
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
