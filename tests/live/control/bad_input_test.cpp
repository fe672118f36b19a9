// SPDX-License-Identifier: BSD-2-Clause
// Each kind of bad input is reported in one clear sentence with its exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>

#include "harness/client/daemon.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;

// One line on standard error; nothing on standard output.
void expect_one_sentence(const Finished& finished) {
  EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1) << finished.err;
  EXPECT_GT(finished.err.size(), 10U);
  EXPECT_EQ(finished.out, "");
}

// tests/unit/daemon/config/config_cases has the message for each mistake.
TEST(Config, IsRefusedInOneSentenceWithFileLineAndKey) {
  TempDir directory;
  const std::string file = directory.file("bad.json", "{\n\n  \"evnets\": {}\n}");
  for (const Command& options : {Command{"--check-config"}, Command{}}) {
    Command command = {kDaemonProgram, "--config", file};
    command.insert(command.end(), options.begin(), options.end());
    const Finished finished = run(command);
    EXPECT_EQ(finished.exit_code, 78);
    expect_one_sentence(finished);
    EXPECT_THAT(finished.err, HasSubstr(file + ":3: evnets: "));
  }
  const Finished missing = run({kDaemonProgram, "--config", "/nonexistent/k.json"});
  EXPECT_EQ(missing.exit_code, 78);
  expect_one_sentence(missing);
  EXPECT_THAT(missing.err, HasSubstr("/nonexistent/k.json"));
}

TEST(CommandLine, ExitsWith64OnUsageErrors) {
  for (const auto& [program, name] :
       {std::pair(kDaemonProgram, "ktraced: "), std::pair(kClientProgram, "ktracectl: ")}) {
    const Finished unknown = run({program, "--no-such-option"});
    EXPECT_EQ(unknown.exit_code, 64);
    expect_one_sentence(unknown);
    EXPECT_THAT(unknown.err, testing::StartsWith(name));
    EXPECT_THAT(unknown.err, HasSubstr("--no-such-option"));
    EXPECT_EQ(run({program, "stray"}).exit_code, 64);
    EXPECT_EQ(run({program, "--version"}).exit_code, 0);
    EXPECT_EQ(run({program, "--help"}).exit_code, 0);
  }
  EXPECT_EQ(run({kDaemonProgram, "--load"}).exit_code, 64) << "it belongs to --check-config";
}

TEST(CommandLine, ClientExits69WithoutADaemon) {
  for (const char* command : {"status", "stream", "pause"}) {
    Finished finished = run({kClientProgram, "--socket", "/nonexistent/control.sock", command});
    EXPECT_EQ(finished.exit_code, 69) << command;
    expect_one_sentence(finished);
    EXPECT_THAT(finished.err, HasSubstr("/nonexistent/control.sock"));
  }
}

// Runs a program under test as an ordinary user and group, from a directory which that user can
// access.
Finished run_as_user(uid_t user, const TempDir& place, const std::string& program,
                     const Command& words) {
  auto copy = place.path() / "program";
  std::filesystem::copy_file(program, copy, std::filesystem::copy_options::overwrite_existing);
  std::filesystem::permissions(copy, std::filesystem::perms(0755));
  Command command = {"setpriv", fmt::format("--reuid={}", user), fmt::format("--regid={}", user),
                     "--clear-groups", copy};
  command.insert(command.end(), words.begin(), words.end());
  return run(command);
}

TEST(Permission, DaemonReportsWhatItNeedsAndExits77) {
  TempDir directory, open_directory;
  std::filesystem::permissions(open_directory.path(), std::filesystem::perms(01777));
  std::string socket = open_directory.path() / "control.sock";
  std::string config =
      directory.file("config.json", json{{"control", {{"socket", socket}}}}.dump());
  Finished finished = run_as_user(65534, directory, kDaemonProgram, {"--config", config});
  EXPECT_EQ(finished.exit_code, 77) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("CAP_BPF"));
  EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1) << finished.err;
}

TEST(Permission, ToExportASnapshotIsThatToReadIt) {
  TempDir directory;
  const auto snapshot = directory.path() / "snapshot";
  std::filesystem::create_directory(snapshot);
  std::filesystem::permissions(snapshot, std::filesystem::perms(0700));
  for (const Command& words :
       {Command{"snapshot", "export", snapshot, "-o", "-"},
        {"snapshot", "export", "snapshot", "--directory", directory.path(), "-o", "-"}}) {
    const Finished finished = run_as_user(65534, directory, kClientProgram, words);
    EXPECT_EQ(finished.exit_code, 77) << finished.err;
    EXPECT_EQ(finished.out, "");
    expect_one_sentence(finished);
  }
}

TEST(Permission, IsThatOfTheRoleOfTheUser) {
  Daemon daemon(json{{"control", {{"group", "nogroup"}}}});
  TempDir directory;
  const auto run_as = [&](uid_t user, const char* command) {
    return run_as_user(user, directory, kClientProgram, {"--socket", daemon.socket(), command});
  };
  constexpr uid_t kReader = 65534, kAdmin = 65533, kStranger = 65532;
  const auto expect_refused = [&](uid_t user, const char* command) {
    const Finished finished = run_as(user, command);
    EXPECT_EQ(finished.exit_code, 77) << user << command << finished.err;
    expect_one_sentence(finished);
  };
  for (const char* command : {"status", "pause", "stream"}) expect_refused(kStranger, command);
  EXPECT_EQ(run_as(kReader, "status").exit_code, 0);
  expect_refused(kReader, "pause");
  EXPECT_EQ(daemon.call("status")["state"], "running");
  // Now the socket is open to all, and the daemon itself refuses strangers.
  daemon.write_config({{"control", {{"group", "nogroup"}, {"admin_uids", {kAdmin}}}}});
  daemon.call("reload");
  for (const char* command : {"status", "pause", "stream"}) expect_refused(kStranger, command);
  EXPECT_EQ(run_as(kAdmin, "pause").exit_code, 0);
  EXPECT_EQ(daemon.call("status")["state"], "paused");
}

}  // namespace
}  // namespace ktraced::live
