// SPDX-License-Identifier: BSD-2-Clause
// `ktraced --check-config`, with and without --load, names what this machine lacks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "harness/machine/temp_dir.h"
#include "harness/traces/flight.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class CheckConfig : public testing::Test {
 protected:
  Finished check(const json& config, const Command& options = {}) {
    Command command = {kDaemonProgram, "--config", directory_.file("c.json", config.dump()),
                       "--check-config"};
    command.insert(command.end(), options.begin(), options.end());
    return run(command);
  }
  static json with_tracepoints(const json& names) { return {{"events", {{"tracepoints", names}}}}; }
  static long lines_of(const std::string& text) { return std::ranges::count(text, '\n'); }

  TempDir directory_;
};

TEST_F(CheckConfig, NamesATracepointThatDoesNotExist) {
  const Finished finished = check(with_tracepoints({"sched:sched_swich", "irq:*"}));
  EXPECT_EQ(finished.exit_code, 78);
  EXPECT_THAT(finished.err, AllOf(HasSubstr("c.json:1: events.tracepoints[0]: "),
                                  HasSubstr("sched:sched_swich"), HasSubstr("sched:sched_switch")));
  EXPECT_EQ(lines_of(finished.err), 1);
  EXPECT_EQ(finished.out, "");
}

TEST_F(CheckConfig, AcceptsEventsOfThisMachine) {
  json config = with_tracepoints({"irq:*", "sched:sched_switch"});
  config["flight"] = {{"buffer_kb", 256}};
  const Finished finished = check(config);
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("the configuration is valid\n"));
}

TEST_F(CheckConfig, LeavesNothingBehindWithLoad) {
  const std::filesystem::path pins = "/sys/fs/bpf/check-" + std::to_string(::getpid());
  json config = with_tracepoints({"irq:irq_handler_entry"});
  config["events"]["sched"] = true;
  config["bpffs"] = pins;
  config["flight"] = {{"buffer_kb", 256}, {"directory", directory_.path() / "snapshots"}};
  config["stream"]["output"] = {{"directory", directory_.path() / "output"}};
  config["control"] = {{"socket", directory_.path() / "sock"}};
  config["log"] = {{"level", "debug"}};
  const Finished finished = check(config, {"--load"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("this machine supports it"));
  EXPECT_THAT(finished.err + finished.out, Not(HasSubstr("not survive"))) << "a trial is not to";
  EXPECT_FALSE(std::filesystem::exists(pins));
  const auto left = std::filesystem::directory_iterator(directory_.path());
  EXPECT_EQ(std::distance(begin(left), end(left)), 1) << "more than the configuration file";
}

TEST_F(CheckConfig, NamesAProbeThatCannotBeAttachedWithLoad) {
  json config = {{"probes", {"p:x no_such_function_at_all"}}, {"flight", {{"enabled", false}}}};
  const Finished finished = check(config, {"--load"});
  EXPECT_EQ(finished.exit_code, 78) << finished.out;
  EXPECT_THAT(finished.err,
              AllOf(HasSubstr("c.json:1: probes: "), HasSubstr("no_such_function_at_all: ")));
  EXPECT_EQ(lines_of(finished.err), 1) << finished.err;
}

// The programs are loaded with rings of this size. While the recorder is disabled, only a small
// model of a ring exists.
TEST_F(CheckConfig, AcceptsTheLargestFlightRingWithLoad) {
  const Finished finished =
      check({{"flight", {{"enabled", false}, {"buffer_kb", 524288}}}}, {"--load"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(check({{"flight", {{"buffer_kb", 1048576}}}}, {"--load"}).exit_code, 78);
}

TEST_F(CheckConfig, DoesNotDisturbARunningDaemonWithLoad) {
  WaitingTruth before({"numbered", "500"});
  WaitingTruth after({"numbered", "500"});
  Daemon daemon(flight_config_for({before.pid(), after.pid()}));
  before.act();
  const Finished finished =
      run({kDaemonProgram, "--config", daemon.config_file(), "--check-config", "--load"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  after.act();
  const json snapshot = daemon.call("snapshot.take");
  const auto path = snapshot["path"].get<std::string>();
  EXPECT_EQ(numbers_in(path, before.pid()), from_to(1, 500));
  EXPECT_EQ(numbers_in(path, after.pid()), from_to(1, 500));
}

}  // namespace
}  // namespace ktraced::live
