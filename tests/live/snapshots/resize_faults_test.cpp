// SPDX-License-Identifier: BSD-2-Clause
// A reload that cannot change the rings of the flight recorder changes nothing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "harness/disks/tmpfs.h"
#include "harness/machine/bpffs.h"
#include "harness/machine/cgroups.h"
#include "harness/machine/held_thread.h"
#include "harness/machine/temp_dir.h"
#include "harness/traces/flight.h"
#include "harness/traces/numbers.h"
#include "harness/traces/resize.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(FlightResize, IsRefusedWhileASnapshotIsBeingWritten) {
  WaitingTruth before({"numbered", "1000"});
  WaitingTruth after({"numbered", "500"});
  const std::vector<pid_t> pids = {before.pid(), after.pid()};
  const json small = flight_config_for(pids, {{"buffer_kb", 1024}}),
             large = flight_config_for(pids, {{"buffer_kb", 4096}});
  Daemon daemon(small);
  before.act();
  {
    HeldThread writer(daemon.pid(), "ktraced-writer");
    daemon.call("snapshot.take", {{"name", "held"}, {"wait", false}});
    const json refused = refused_reload(daemon, large);
    EXPECT_EQ(refused["data"]["exit_code"], 69);
    EXPECT_THAT(refused["message"].get<std::string>(),
                HasSubstr("flight.buffer_kb and flight.banks cannot be changed while a snapshot"));
    EXPECT_EQ(flight_of(daemon)["ring_bytes"], 1024 * 1024);
  }
  after.act();
  EXPECT_EQ(snapshot_numbers(finished_snapshots(daemon, 1).at(0), before.pid()), from_to(1, 1000));
  reload(daemon, large);
  EXPECT_EQ(snapshot_numbers(finished_snapshots(daemon, 2).at(1), after.pid()), from_to(1, 500));
}

// All of it, or nothing: a failed reload also leaves the other keys of the file.
void expect_unchanged(Daemon& daemon, pid_t before) {
  const json flight = flight_of(daemon);
  EXPECT_EQ(flight["ring_bytes"], 1024 * 1024);
  EXPECT_EQ(flight["banks"], 2);
  EXPECT_FALSE(daemon.call("filter.show").dump().contains("nosuch"));
  WaitingTruth after({"numbered", "500"});
  daemon.set_filter({{"pid", {before, after.pid()}}});
  after.act();
  const json taken = daemon.call("snapshot.take");
  EXPECT_EQ(snapshot_numbers(taken, before), from_to(1, 1000));
  EXPECT_EQ(snapshot_numbers(taken, after.pid()), from_to(1, 500));
  EXPECT_THAT(states_in(manifest_of(taken["path"].get<std::string>())), Not(Contains("paused")));
}

json resized_and_filtered(json flight) {
  json config = flight_config(std::move(flight));
  config["filter"] = {{"comm", {"nosuch"}}};
  return config;
}

// A daemon with a memory limit refuses rings of this size, and changes nothing.
void expect_no_memory(uint64_t limit_mb, int buffer_kb) {
  const MemoryCgroup group(limit_mb << 20);
  WaitingTruth before({"numbered", "1000"});
  Daemon daemon(flight_config_for({before.pid()}, {{"buffer_kb", 1024}}), group.wrapper());
  before.act();
  const json refused =
      refused_reload(daemon, resized_and_filtered({{"buffer_kb", buffer_kb}, {"banks", 4}}));
  EXPECT_THAT(refused["message"].get<std::string>(),
              AllOf(HasSubstr("the new flight rings take"),
                    HasSubstr(fmt::format("flight.buffer_kb {}", buffer_kb)),
                    HasSubstr(fmt::format("the memory limit of {} MiB", limit_mb)),
                    HasSubstr(group.path().filename()), HasSubstr("MemoryMax=")));
  expect_unchanged(daemon, before.pid());
}

TEST(FlightResize, ChangesNothingWithoutMemory) { expect_no_memory(256, 131072); }

// Each ring fits, but not all of them.
TEST(FlightResize, ChangesNothingWithoutMemoryForAllRings) { expect_no_memory(100, 32768); }

// The flight rings fit, and the rings of the output, but not both.
TEST(FlightResize, ChangesNothingWithoutMemoryForTheRingsOfTheOutputToo) {
  const auto cpus = static_cast<uint64_t>(::sysconf(_SC_NPROCESSORS_ONLN));
  const uint64_t limit_mb = 40 + 36 * cpus;
  const MemoryCgroup group(limit_mb << 20);
  TempDir directory;
  WaitingTruth before({"numbered", "1000"});
  Daemon daemon(flight_config_for({before.pid()}, {{"buffer_kb", 1024}}), group.wrapper());
  before.act();
  json config = resized_and_filtered({{"buffer_kb", 16384}});
  config["stream"] = {{"buffer_kb", 32768},
                      {"total_mb", 128 * cpus},
                      {"output", {{"directory", directory.path() / "d"}}}};
  const json refused = refused_reload(daemon, config);
  EXPECT_THAT(refused["message"].get<std::string>(),
              AllOf(HasSubstr("the new rings take"),
                    HasSubstr("(stream.buffer_kb 32768 + flight.banks 2 x flight.buffer_kb 16384)"),
                    HasSubstr(fmt::format("the memory limit of {} MiB", limit_mb)),
                    HasSubstr(group.path().filename()), HasSubstr("MemoryMax=")));
  EXPECT_EQ(daemon.call("status")["stream"]["output"]["enabled"], false);
  expect_unchanged(daemon, before.pid());
}

TEST(FlightResize, ChangesNothingIfItCannotBePinned) {
  const Bpffs bpffs;
  WaitingTruth before({"numbered", "1000"});
  json config = flight_config_for({before.pid()}, {{"buffer_kb", 1024}});
  config["bpffs"] = bpffs.path() / "ktraced";
  Daemon daemon(config);
  before.act();
  ASSERT_EQ(::mount(nullptr, bpffs.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  config = resized_and_filtered({{"buffer_kb", 2048}});
  config["bpffs"] = bpffs.path() / "ktraced";
  const json refused = refused_reload(daemon, config);
  EXPECT_THAT(refused["message"].get<std::string>(),
              HasSubstr("flight.buffer_kb and flight.banks are not changed: cannot pin"));
  ASSERT_EQ(::mount(nullptr, bpffs.path().c_str(), nullptr, MS_REMOUNT, nullptr), 0);
  expect_unchanged(daemon, before.pid());
  EXPECT_EQ(daemon.call("reload")["changed"], json({"filter", "flight"}));
}

TEST(FlightResize, ChangesNothingIfTheHistoryCannotBeSaved) {
  Tmpfs disk("size=64m");
  const json place = {{"buffer_kb", 1024}, {"directory", disk.path() / "d"}};
  WaitingTruth before({"numbered", "1000"});
  Daemon daemon(flight_config_for({before.pid()}, place));
  before.act();
  disk.make_read_only();
  json flight = place;
  flight["buffer_kb"] = 2048;
  const json refused = refused_reload(daemon, resized_and_filtered(flight));
  EXPECT_THAT(refused["message"].get<std::string>(),
              HasSubstr("set flight.save_on_resize to false"));
  disk.remount("rw");
  expect_unchanged(daemon, before.pid());
}

}  // namespace
}  // namespace ktraced::live
