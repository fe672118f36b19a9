// SPDX-License-Identifier: BSD-2-Clause
// The flight recorder gets rings of another size, or another number of them, by a reload.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <stop_token>
#include <thread>

#include "harness/client/stream.h"
#include "harness/machine/bpf_view.h"
#include "harness/machine/scale.h"
#include "harness/machine/temp_dir.h"
#include "harness/traces/flight.h"
#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/resize.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

struct Sizes {
  int buffer_kb, banks;
};

class FlightResizeTo : public testing::TestWithParam<Sizes> {};

TEST_P(FlightResizeTo, SavesWhatWasBeforeAndRecordsWhatIsAfter) {
  WaitingTruth before({"numbered", "3000"});
  WaitingTruth after({"numbered", "2000"});
  const std::vector<pid_t> pids = {before.pid(), after.pid()};
  Daemon daemon(flight_config_for(pids, {{"buffer_kb", 1024}, {"banks", 3}}));
  before.act();
  const json now =
      flight_config_for(pids, {{"buffer_kb", GetParam().buffer_kb}, {"banks", GetParam().banks}});
  EXPECT_EQ(reload(daemon, now)["changed"], json{"flight"});
  after.act();

  const auto snapshots = finished_snapshots(daemon, 1);
  ASSERT_EQ(snapshots.size(), 1U);
  EXPECT_TRUE(complete_but_for_missed(snapshots[0])) << snapshots[0];
  EXPECT_THAT(snapshots[0]["name"].get<std::string>(), StartsWith("resized-"));
  EXPECT_EQ(snapshot_numbers(snapshots[0], before.pid()), from_to(1, 3000));
  EXPECT_THAT(snapshot_numbers(snapshots[0], after.pid()), IsEmpty());
  const json next = daemon.call("snapshot.take");
  EXPECT_TRUE(complete_but_for_missed(next)) << next;
  EXPECT_EQ(snapshot_numbers(next, after.pid()), from_to(1, 2000));
  EXPECT_THAT(snapshot_numbers(next, before.pid()), IsEmpty());

  // The recorder has counted everything once.
  const json counts = daemon.event_status("sys_enter");
  EXPECT_EQ(counts["recorded"].get<uint64_t>() + counts["missed"].get<uint64_t>(), 5000U) << counts;
  EXPECT_EQ(counts["dropped"], 0);
  EXPECT_EQ(counts["overwritten"], 0);
  const json flight = flight_of(daemon);
  EXPECT_EQ(flight["ring_bytes"], GetParam().buffer_kb * 1024);
  EXPECT_EQ(flight["banks"], GetParam().banks);
  EXPECT_EQ(flight["discarded"], 0);
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_FALSE(fs::exists(daemon.pins()));
}

INSTANTIATE_TEST_SUITE_P(Live, FlightResizeTo,
                         testing::Values(Sizes{4096, 3}, Sizes{1024, 2}, Sizes{256, 4}),
                         [](const auto& sizes) {
                           return std::to_string(sizes.param.banks) + "x" +
                                  std::to_string(sizes.param.buffer_kb) + "k";
                         });

// The gap is in the trace configs, and nothing but the gap is missing.
TEST(FlightResize, PausesAllSessionsForAMoment) {
  const auto kb = 16384;
  WaitingTruth truth({"numbered", "0", "200"});
  Daemon daemon(flight_config_for({truth.pid()}, {{"buffer_kb", kb}}));
  const std::string pid = std::to_string(truth.pid());
  Stream stream(daemon, {"--name", "mine", "--event", "sys_enter", "--pid", pid});
  truth.go();
  const auto recorded = [&] {
    return daemon.event_status("sys_enter")["recorded"].get<uint64_t>();
  };
  const auto records_more = [&] {
    const uint64_t before = recorded();
    return eventually([&] { return recorded() > before + 100; });
  };
  ASSERT_TRUE(records_more());
  const uint64_t before = recorded();
  reload(daemon, flight_config_for({truth.pid()}, {{"buffer_kb", 2 * kb}}));
  EXPECT_GE(recorded(), before) << "counts go on";
  ASSERT_TRUE(records_more());
  const uint64_t calls = truth.finish()["count"];

  const auto saved = finished_snapshots(daemon, 1);
  ASSERT_EQ(saved.size(), 1U);
  const json next = daemon.call("snapshot.take");
  auto numbers = snapshot_numbers(saved[0], truth.pid());
  const uint64_t last_before = numbers.size();
  expect_all_but_missed(numbers, last_before, daemon, "sys_enter");
  numbers = snapshot_numbers(next, truth.pid());
  ASSERT_FALSE(numbers.empty());
  const uint64_t first_after = numbers.front();
  EXPECT_GT(first_after, last_before);
  expect_all_but_missed(numbers, first_after, calls,
                        daemon.event_status("sys_enter")["missed"].get<uint64_t>());
  const json counts = daemon.event_status("sys_enter");
  EXPECT_EQ(counts["recorded"], last_before + numbers.size());
  EXPECT_EQ(counts["dropped"], 0);
  EXPECT_THAT(states_in(manifest_of(next["path"].get<std::string>())),
              ElementsAre("paused", "running"));
  EXPECT_THAT(states_in(manifest_of(saved[0]["path"].get<std::string>())), Contains("paused"));

  const json session = daemon.call("session.show", {{"session", "mine"}});
  const json& mine = session["counts"]["sys_enter"];
  EXPECT_EQ(mine["dropped"], 0);
  const auto shown = call_numbers(stream.finish(), truth.pid());
  EXPECT_EQ(shown.size(), mine["recorded"].get<size_t>());
  EXPECT_EQ(std::ranges::count_if(shown, [&](uint64_t n) { return n <= last_before; }),
            static_cast<long>(last_before));
  EXPECT_EQ(std::ranges::count_if(shown, [&](uint64_t n) { return n >= first_after; }),
            static_cast<long>(calls - first_after + 1));
}

TEST(FlightResize, ReportsThePauseInARecording) {
  TempDir directory;
  const fs::path trace = directory.path() / "d";
  Daemon daemon(flight_config({{"buffer_kb", 1024}}));
  Process client(daemon.ctl_command({"record", "-o", trace.string()}));
  ASSERT_TRUE(reaches([&] { return daemon.call("status")["subscribers"].size(); }, 1));
  run_truth({"numbered", "100"});
  reload(daemon, flight_config({{"buffer_kb", 2048}}));
  run_truth({"numbered", "100"});
  client.send(SIGINT);
  EXPECT_EQ(client.wait().exit_code, 0);
  EXPECT_THAT(states_in(manifest_of(trace)), ElementsAre("running", "paused", "running"));
  EXPECT_THAT(daemon.ctl_ok({"report", "syscalls", trace.string()}), HasSubstr("paused"));
}

TEST(FlightResize, DiscardsTheHistoryIfItIsNotToBeSaved) {
  WaitingTruth before({"numbered", "3000"});
  WaitingTruth after({"numbered", "2000"});
  const std::vector<pid_t> pids = {before.pid(), after.pid()};
  Daemon daemon(flight_config_for(pids, {{"buffer_kb", 1024}}));
  before.act();
  reload(daemon, flight_config_for(pids, {{"buffer_kb", 4096}, {"save_on_resize", false}}));
  after.act();
  const uint64_t discarded = flight_of(daemon)["discarded"];
  EXPECT_EQ(discarded + daemon.event_status("sys_enter")["missed"].get<uint64_t>() +
                daemon.event_status("sys_exit")["missed"].get<uint64_t>(),
            6000U);
  EXPECT_TRUE(daemon.logged("discarded " + std::to_string(discarded) + " records"));
  EXPECT_THAT(daemon.ctl_ok({"status"}), HasSubstr("discarded when resized"));
  EXPECT_THAT(daemon.call("snapshot.list")["snapshots"], IsEmpty());
  EXPECT_EQ(take_numbers(daemon, after.pid()), from_to(1, 2000));
  const json counts = daemon.event_status("sys_enter");
  EXPECT_EQ(counts["recorded"].get<uint64_t>() + counts["missed"].get<uint64_t>(), 5000U);
}

// The reload also makes the filter match a process that has few hits, so that its first record is
// often written while the recorder is being paused.
TEST(FlightResize, SavesWhatIsRecordedUntilThePause) {
  const std::jthread calls([](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      ::getpriority(PRIO_PROCESS, 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  WaitingTruth idle({"numbered", "1"});
  Daemon daemon(flight_config_for({idle.pid()}, {{"buffer_kb", 64}}));
  const long rounds = 1 + scaled(7);
  for (long round = 0; round < rounds; ++round) {
    reload(daemon, flight_config_for({::getpid()}, {{"buffer_kb", 128}}));
    ASSERT_EQ(flight_of(daemon)["discarded"], 0) << round << daemon.log();
    wait_until_written(daemon);
    reload(daemon, flight_config_for({idle.pid()}, {{"buffer_kb", 64}}));
    ASSERT_EQ(flight_of(daemon)["discarded"], 0) << round << daemon.log();
    wait_until_written(daemon);
  }
}

TEST(FlightResize, CountsOverwrittenRecordsAcrossIt) {
  WaitingTruth truth({"numbered", "20000"});
  Daemon daemon(flight_config_for({truth.pid()}, {{"buffer_kb", 64}}));
  truth.act();
  const auto total = [&](const char* counter) {
    return daemon.call("status")["totals"][counter].get<uint64_t>();
  };
  const uint64_t overwritten = total("overwritten"), recorded = total("recorded");
  EXPECT_GT(overwritten, 0U);
  reload(daemon, flight_config_for({truth.pid()}, {{"buffer_kb", 128}}));
  const auto saved = finished_snapshots(daemon, 1);
  ASSERT_EQ(saved.size(), 1U);
  EXPECT_EQ(total("overwritten"), overwritten);
  EXPECT_EQ(total("recorded"), recorded);
  EXPECT_EQ(saved[0]["records"].get<uint64_t>() + overwritten, recorded);
}

TEST(FlightResize, CanTurnTheRecorderOnAndOff) {
  Daemon daemon(flight_config({{"buffer_kb", 1024}}));
  run_truth({"numbered", "100"});
  reload(daemon, flight_config({{"buffer_kb", 2048}, {"enabled", false}}));
  wait_until_written(daemon);
  EXPECT_EQ(flight_of(daemon)["enabled"], false);
  EXPECT_EQ(flight_of(daemon)["bytes"], 0);
  reload(daemon, flight_config({{"buffer_kb", 512}, {"enabled", false}}));
  WaitingTruth truth({"numbered", "500"});
  reload(daemon, flight_config_for({truth.pid()}, {{"buffer_kb", 4096}}));
  truth.act();
  EXPECT_EQ(take_numbers(daemon, truth.pid()), from_to(1, 500));
}

// No program, map or link of the old sizes is left.
TEST(FlightResize, LeavesNothingOfTheOldSizes) {
  Daemon daemon(flight_config({{"buffer_kb", 1024}}));
  const auto there_and_back = [&] {
    for (const int buffer_kb : {2048, 1024}) {
      reload(daemon, flight_config({{"buffer_kb", buffer_kb}}));
      wait_until_written(daemon);
    }
    return bpf_objects_of(daemon.pid());
  };
  const BpfObjects before = there_and_back(), after = there_and_back();
  EXPECT_EQ(before.programs.size(), after.programs.size());
  EXPECT_EQ(before.maps.size(), after.maps.size());
  EXPECT_EQ(before.links.size(), after.links.size());
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_TRUE(eventually([&] { return still_there(before).maps.empty(); }));
  EXPECT_TRUE(eventually([&] { return still_there(before).links.empty(); }));
  EXPECT_FALSE(fs::exists(daemon.pins()));
}

}  // namespace
}  // namespace ktraced::live
