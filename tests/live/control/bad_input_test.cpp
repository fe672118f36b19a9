// SPDX-License-Identifier: BSD-2-Clause
// Each kind of bad input is reported in one clear sentence with its exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/ranges.h>

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

struct BadConfig {
  const char* name;
  const char* text;
  std::vector<const char*> expected;  // parts of the message
};

void PrintTo(const BadConfig& config, std::ostream* out) { *out << config.name; }

class BadConfigs : public testing::TestWithParam<BadConfig> {};

TEST_P(BadConfigs, AreRefusedWithFileKeyAndLine) {
  TempDir directory;
  std::string file = directory.file("bad.json", GetParam().text);
  for (const Command& options : {Command{"--check-config"}, Command{}}) {
    Command command = {kDaemonProgram, "--config", file};
    command.insert(command.end(), options.begin(), options.end());
    Finished finished = run(command);
    EXPECT_EQ(finished.exit_code, 78);
    expect_one_sentence(finished);
    EXPECT_THAT(finished.err, HasSubstr("bad.json"));
    for (const char* part : GetParam().expected) EXPECT_THAT(finished.err, HasSubstr(part));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Config, BadConfigs,
    testing::Values(
        BadConfig{"NotJson", "{\n  \"events\": {\n", {"3"}},
        BadConfig{"NotAnObject", "[]", {"object"}}, BadConfig{"Empty", "", {}},
        BadConfig{"UnknownKey", "{\n\n  \"evnets\": {}\n}", {"evnets", "3"}},
        BadConfig{
            "UnknownInnerKey", "{\n  \"stream\": {\n    \"bufer_kb\": 1 } }", {"bufer_kb", "3"}},
        BadConfig{"WrongType", "{\n  \"stream\": { \"buffer_kb\": \"big\" } }", {"buffer_kb", "2"}},
        BadConfig{"NegativeSize", "{ \"stream\": { \"buffer_kb\": -4 } }", {"buffer_kb"}},
        BadConfig{"AbsurdSize", "{ \"stream\": { \"buffer_kb\": 99999999999 } }", {"buffer_kb"}},
        BadConfig{"ZeroSize", "{ \"stream\": { \"buffer_kb\": 0 } }", {"buffer_kb"}},
        BadConfig{"FractionalSize", "{ \"stream\": { \"buffer_kb\": 64.5 } }", {"buffer_kb"}},
        BadConfig{
            "UnknownEvent", "{\n  \"events\": { \"kmem\": [\"kmallloc\"] } }", {"kmallloc", "2"}},
        BadConfig{"UnknownGroup", "{ \"events\": { \"kmen\": true } }", {"kmen"}},
        BadConfig{"UnknownSyscall",
                  "{ \"events\": { \"syscalls\": { \"only\": [\"opeanat\"] } } }",
                  {"opeanat"}},
        BadConfig{"NegativePid", "{ \"filter\": { \"pid\": [-1] } }", {"pid"}},
        BadConfig{"LongComm",
                  "{ \"filter\": { \"comm\": [\"a-name-longer-than-fifteen\"] } }",
                  {"comm[0]", "15"}},
        BadConfig{"UnknownLogLevel", "{ \"log\": { \"level\": \"loud\" } }", {"level", "loud"}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Config, ReportsAMissingFileByName) {
  Finished finished = run({kDaemonProgram, "--config", "/nonexistent/k.json", "--check-config"});
  EXPECT_EQ(finished.exit_code, 78);
  expect_one_sentence(finished);
  EXPECT_THAT(finished.err, HasSubstr("/nonexistent/k.json"));
}

TEST(Config, AcceptsGoodFilesWithComments) {
  TempDir directory;
  std::string file =
      directory.file("good.json", "{ // what to trace\n \"events\": { \"oom\": true } }");
  Finished finished = run({kDaemonProgram, "--config", file, "--check-config"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  finished = run(
      {kDaemonProgram, "--config", KTRACED_SOURCE_DIR "/configs/ktraced.json", "--check-config"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
}

TEST(CommandLine, DaemonExits64OnUsageErrors) {
  const Finished unknown = run({kDaemonProgram, "--no-such-option"});
  EXPECT_EQ(unknown.exit_code, 64);
  EXPECT_THAT(unknown.err, testing::StartsWith("ktraced: "));
  EXPECT_THAT(unknown.err, HasSubstr("--no-such-option"));
  EXPECT_EQ(std::ranges::count(unknown.err, '\n'), 1) << unknown.err;
  EXPECT_EQ(run({kDaemonProgram, "stray"}).exit_code, 64);
  EXPECT_EQ(run({kDaemonProgram, "--version"}).exit_code, 0);
  EXPECT_EQ(run({kDaemonProgram, "--help"}).exit_code, 0);
}

TEST(CommandLine, ClientExits64OnUsageErrors) {
  Daemon daemon;
  for (const Command& words :
       {Command{"no-such-command"}, Command{}, Command{"stream", "--format", "xml"},
        Command{"stream", "--count", "many"}, Command{"stream", "--count", "-1"},
        Command{"stream", "--event", "kmallloc"}, Command{"events", "enable", "kmallloc"},
        Command{"events", "enable"}, Command{"filter", "set", "pid"},
        Command{"filter", "set", "pdi=1"}, Command{"filter", "set", "pid=one"},
        Command{"filter", "set", "--pid", "abc"}, Command{"filter", "set"}, Command{"record"},
        Command{"record", "-o"}, Command{"record", "--", "true"}, Command{"snapshot", "tkae"},
        Command{"snapshot", "delete"}, Command{"show"}}) {
    Finished finished = daemon.ctl(words);
    EXPECT_EQ(finished.exit_code, 64) << fmt::format("{}", fmt::join(words, " ")) << finished.err;
    EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1) << "one line: " << finished.err;
    EXPECT_EQ(finished.out, "");
  }
  EXPECT_THAT(daemon.ctl({"events", "enable", "kmallloc"}).err, HasSubstr("kmallloc"));
  EXPECT_THAT(daemon.ctl({"stream", "--event", "kmallloc"}).err, HasSubstr("kmallloc"));
}

TEST(CommandLine, ClientExits69WithoutADaemon) {
  for (const char* command : {"status", "stream", "pause"}) {
    Finished finished = run({kClientProgram, "--socket", "/nonexistent/control.sock", command});
    EXPECT_EQ(finished.exit_code, 69) << command;
    expect_one_sentence(finished);
    EXPECT_THAT(finished.err, HasSubstr("/nonexistent/control.sock"));
  }
}

// Runs a program under test as an ordinary user, from a directory which that user can access.
Finished run_as_nobody(const TempDir& place, const std::string& program, const Command& words) {
  auto copy = place.path() / "program";
  std::filesystem::copy_file(program, copy, std::filesystem::copy_options::overwrite_existing);
  std::filesystem::permissions(copy, std::filesystem::perms(0755));
  Command command = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", copy};
  command.insert(command.end(), words.begin(), words.end());
  return run(command);
}

TEST(Permission, DaemonReportsWhatItNeedsAndExits77) {
  TempDir directory, open_directory;
  std::filesystem::permissions(open_directory.path(), std::filesystem::perms(01777));
  std::string socket = open_directory.path() / "control.sock";
  std::string config =
      directory.file("config.json", json{{"control", {{"socket", socket}}}}.dump());
  Finished finished = run_as_nobody(directory, kDaemonProgram, {"--config", config});
  EXPECT_EQ(finished.exit_code, 77) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("CAP_BPF"));
  EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1) << finished.err;
}

TEST(Permission, ClientExits77WithoutPermission) {
  Daemon daemon;
  TempDir directory;
  for (const char* command : {"status", "pause", "stream"}) {
    Finished finished =
        run_as_nobody(directory, kClientProgram, {"--socket", daemon.socket(), command});
    EXPECT_EQ(finished.exit_code, 77) << command << finished.err;
    expect_one_sentence(finished);
  }
}

TEST(Permission, AllowsCommandsToAdministratorsAndReadingToReaders) {
  Daemon daemon(json{{"control", {{"admin_uids", {65534}}}}});
  TempDir directory;
  EXPECT_EQ(
      run_as_nobody(directory, kClientProgram, {"--socket", daemon.socket(), "pause"}).exit_code,
      0);
  Daemon readers(json{{"control", {{"group", "nogroup"}}}});
  EXPECT_EQ(
      run_as_nobody(directory, kClientProgram, {"--socket", readers.socket(), "status"}).exit_code,
      0);
  Finished pause =
      run_as_nobody(directory, kClientProgram, {"--socket", readers.socket(), "pause"});
  EXPECT_EQ(pause.exit_code, 77);
  EXPECT_EQ(readers.call("status")["state"], "running");
}

}  // namespace
}  // namespace ktraced::live
