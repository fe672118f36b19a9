// SPDX-License-Identifier: BSD-2-Clause
// The flight recorder gets rings of another size, or another number of them, at the next start.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "harness/client/stream_output.h"
#include "harness/machine/cgroups.h"
#include "harness/machine/scale.h"
#include "harness/machine/temp_dir.h"
#include "harness/traces/flight.h"
#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

json flight_of(Daemon& daemon) { return daemon.call("status")["flight"]; }

json saved_snapshots(Daemon& daemon) { return daemon.call("snapshot.list")["snapshots"]; }

std::vector<uint64_t> snapshot_numbers(const json& snapshot, pid_t pid) {
  return numbers_in(snapshot["path"].get<std::string>(), pid);
}

TEST(FlightResize, TakesEffectAtTheNextStart) {
  WaitingTruth truth({"numbered", "500"});
  Daemon daemon(flight_config_for({truth.pid()}, {{"buffer_kb", 1024}}));
  daemon.write_config(
      flight_config_for({truth.pid()}, {{"buffer_kb", 256}, {"banks", 3}, {"max_snapshots", 7}}));
  EXPECT_EQ(daemon.ctl_ok({"reload"}),
            "reloaded: flight changed\n"
            "flight.buffer_kb takes effect at the next start\n"
            "flight.banks takes effect at the next start\n");
  EXPECT_TRUE(daemon.logged("flight.banks takes effect at the next start"));
  EXPECT_EQ(daemon.call("reload"), (json{{"changed", json::array()},
                                         {"at_next_start", {"flight.buffer_kb", "flight.banks"}}}));
  EXPECT_EQ(flight_of(daemon)["ring_bytes"], 1024 * 1024);
  EXPECT_EQ(flight_of(daemon)["banks"], 2);
  truth.act();
  EXPECT_EQ(take_numbers(daemon, truth.pid()), from_to(1, 500)) << "in the rings that there were";
  EXPECT_EQ(daemon.stop().exit_code, 0);
  daemon.start();
  EXPECT_EQ(flight_of(daemon)["ring_bytes"], 256 * 1024);
  EXPECT_EQ(flight_of(daemon)["banks"], 3);
  EXPECT_EQ(daemon.call("reload")["at_next_start"], json::array());
}

// A start checks the limit too, and would fail when nobody looks.
TEST(FlightResize, IsRefusedIfTheNextStartWouldExceedTheMemoryLimit) {
  const MemoryCgroup group(uint64_t{100} << 20);
  Daemon daemon(json::object(), group.wrapper());
  daemon.write_config({{"flight", {{"buffer_kb", 131072}}}});
  const json error = daemon.call_error("reload");
  EXPECT_THAT(error["message"].get<std::string>(),
              AllOf(HasSubstr("flight.buffer_kb 131072"),
                    HasSubstr("the memory limit of 100 MiB of the control group")));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

struct Sizes {
  int buffer_kb, banks;
};

class FlightResizeTo : public testing::TestWithParam<Sizes> {};

// Of the recorder, and of the output.
TEST_P(FlightResizeTo, SavesTheHistoryOfTheEarlierDaemonFirst) {
  const TempDir directory;
  WaitingTruth before({"numbered", "3000"}), between({"numbered", "1000"}),
      after({"numbered", "2000"});
  const std::vector<pid_t> pids = {before.pid(), between.pid(), after.pid()};
  const auto config = [&](int buffer_kb, int banks, bool persist) {
    json all = flight_config_for(pids, {{"buffer_kb", buffer_kb}, {"banks", banks}});
    all["persist"] = persist;
    all["stream"]["output"] = output_config(directory.path() / "d")["stream"]["output"];
    return all;
  };
  Daemon daemon(config(1024, 3, true));
  before.act();
  EXPECT_EQ(daemon.stop().exit_code, 0);
  between.act();
  daemon.write_config(config(GetParam().buffer_kb, GetParam().banks, false));
  daemon.start();
  after.act();

  const json saved = saved_snapshots(daemon);
  ASSERT_THAT(saved, SizeIs(1));
  EXPECT_THAT(saved[0]["name"].get<std::string>(), StartsWith("recovered-"));
  EXPECT_TRUE(complete_but_for_missed(saved[0])) << saved[0];
  EXPECT_EQ(snapshot_numbers(saved[0], before.pid()), from_to(1, 3000));
  EXPECT_EQ(snapshot_numbers(saved[0], between.pid()), from_to(1, 1000));
  EXPECT_THAT(snapshot_numbers(saved[0], after.pid()), IsEmpty());
  const json next = daemon.call("snapshot.take");
  EXPECT_TRUE(complete_but_for_missed(next)) << next;
  EXPECT_EQ(snapshot_numbers(next, after.pid()), from_to(1, 2000));
  EXPECT_THAT(snapshot_numbers(next, before.pid()), IsEmpty());
  EXPECT_EQ(flight_of(daemon)["ring_bytes"], GetParam().buffer_kb * 1024);
  EXPECT_EQ(flight_of(daemon)["banks"], GetParam().banks);
  EXPECT_THAT(daemon.call("status")["replaced"], IsEmpty());
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_FALSE(fs::exists(daemon.pins()));

  std::map<pid_t, std::vector<uint64_t>> streamed;
  for (const fs::path& trace : traces_in(directory.path() / "d"))
    for (const pid_t pid : pids) {
      const auto numbers = numbers_in(trace, pid);
      streamed[pid].insert(streamed[pid].end(), numbers.begin(), numbers.end());
    }
  EXPECT_EQ(streamed[before.pid()], from_to(1, 3000));
  EXPECT_EQ(streamed[between.pid()], from_to(1, 1000));
  EXPECT_EQ(streamed[after.pid()], from_to(1, 2000));
}

INSTANTIATE_TEST_SUITE_P(Live, FlightResizeTo,
                         testing::Values(Sizes{4096, 3}, Sizes{1024, 2}, Sizes{256, 4}),
                         [](const auto& sizes) {
                           return std::to_string(sizes.param.banks) + "x" +
                                  std::to_string(sizes.param.buffer_kb) + "k";
                         });

TEST(FlightResize, MakesNoRingsOfTheEarlierSizesIfTheEarlierRecorderWasOff) {
  Daemon daemon(flight_config({{"enabled", false}, {"buffer_kb", 262144}, {"banks", 8}}));
  daemon.end(SIGKILL);
  WaitingTruth truth({"numbered", "500"});
  daemon.write_config(flight_config_for({truth.pid()}, {{"buffer_kb", 256}}));
  daemon.start();
  EXPECT_EQ(flight_of(daemon)["ring_bytes"], 256 * 1024);
  truth.act();
  EXPECT_EQ(take_numbers(daemon, truth.pid()), from_to(1, 500));
  EXPECT_THAT(saved_snapshots(daemon), SizeIs(1));
}

// The daemon serves, with the rings that there are.
TEST(FlightResize, WaitsUntilTheHistoryCanBeSaved) {
  const TempDir directory;
  const fs::path in_the_way = directory.path() / "file";
  std::ofstream(in_the_way) << "no directory\n";
  WaitingTruth before({"numbered", "500"}), after({"numbered", "500"});
  const auto config = [&](int buffer_kb, const fs::path& snapshots) {
    return flight_config_for({before.pid(), after.pid()},
                             {{"buffer_kb", buffer_kb}, {"directory", snapshots}});
  };
  Daemon daemon(config(1024, directory.path() / "snapshots"));
  before.act();
  daemon.end(SIGKILL);
  daemon.write_config(config(256, in_the_way / "snapshots"));
  daemon.start();
  EXPECT_TRUE(
      daemon.logged("flight.buffer_kb and flight.banks stay as an earlier daemon had them"));
  EXPECT_EQ(flight_of(daemon)["ring_bytes"], 1024 * 1024);
  daemon.write_config(config(256, directory.path() / "snapshots"));
  EXPECT_EQ(daemon.call("reload")["at_next_start"], json{"flight.buffer_kb"});
  ASSERT_TRUE(eventually([&] { return saved_snapshots(daemon).size() == 1; })) << daemon.log();
  EXPECT_EQ(snapshot_numbers(saved_snapshots(daemon)[0], before.pid()), from_to(1, 500));
  after.act();
  EXPECT_EQ(take_numbers(daemon, after.pid()), from_to(1, 500)) << "it goes on";
  daemon.end(SIGKILL);
  daemon.start();
  EXPECT_EQ(flight_of(daemon)["ring_bytes"], 256 * 1024);
}

// Killed at some moment of the start: the next daemon has the history, or it is on disk.
TEST(FlightResize, LosesNothingWhenItIsKilled) {
  Daemon daemon(flight_config({{"buffer_kb", 1024}}));
  const long rounds = 3 + scaled(usual_or_whole(5, 20));
  for (long round = 0; round < rounds; ++round) {
    const int kb = round % 2 == 0 ? 2048 : 1024;
    WaitingTruth truth({"numbered", "500"});
    daemon.set_filter({{"pid", {truth.pid()}}});
    truth.act();
    daemon.end(SIGKILL);
    daemon.write_config(
        flight_config_for({truth.pid()}, {{"buffer_kb", kb}, {"max_snapshots", 1000}}));
    {
      const Process early({kDaemonProgram, "--config", daemon.config_file()});
      std::this_thread::sleep_for(Milliseconds(1200) * round / rounds);
    }
    daemon.start();
    EXPECT_THAT(daemon.call("status")["replaced"], IsEmpty());
    EXPECT_EQ(flight_of(daemon)["ring_bytes"], kb * 1024) << "round " << round;
    daemon.call("snapshot.take");
    ASSERT_TRUE(eventually([&] { return flight_of(daemon)["frozen"] == 0; }));
    std::vector<uint64_t> numbers;
    for (const json& each : saved_snapshots(daemon))
      for (const uint64_t number : snapshot_numbers(each, truth.pid())) numbers.push_back(number);
    std::ranges::sort(numbers);
    EXPECT_EQ(numbers, from_to(1, 500)) << "round " << round;
  }
}

}  // namespace
}  // namespace ktraced::live
