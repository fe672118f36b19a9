// SPDX-License-Identifier: BSD-2-Clause
// `ktracectl top` on a terminal and elsewhere.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "harness/client/daemon.h"
#include "harness/client/rpc.h"
#include "harness/machine/tmux.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Top : public testing::Test {
 protected:
  void expect_calls_of_a_process() {
    WaitingTruth caller({"numbered", "0", "1000"});
    caller.go();
    const json frame = json::parse(daemon_.ctl_ok({"--json", "top", "--view", "calls", "--count",
                                                   "1", "--pid", std::to_string(caller.pid())}));
    caller.finish();
    const auto counted = std::ranges::find(frame["rows"], "getpriority", [](const json& row) {
      return row["system_call"].get<std::string>();
    });
    ASSERT_NE(counted, frame["rows"].end()) << frame;
    EXPECT_GT((*counted)["calls_per_s"], 0);
  }

  Daemon daemon_{json{{"events", {{"syscalls", true}, {"sched", true}}},
                      {"flight", {{"enabled", true}, {"buffer_kb", 256}}},
                      {"control", {{"group", "nogroup"}}}}};
};

class TopScreen : public Top {
 protected:
  void start(Tmux& terminal, const std::string& prefix = "") {
    terminal.enter("stty -g >" + before() + "; echo left on the screen");
    EXPECT_TRUE(terminal.shows("\nleft on the screen"));
    terminal.enter(
        fmt::format("{} {}; echo exit=$?", prefix,
                    fmt::join(daemon_.ctl_command({"top", "--interval", "200ms"}), " ")));
    EXPECT_TRUE(terminal.shows("sys_enter"));
  }
  // The shell is as it was before.
  void expect_restored(Tmux& terminal, const std::string& exit_code) {
    EXPECT_TRUE(terminal.shows("exit=" + exit_code));
    EXPECT_THAT(terminal.text(), HasSubstr("\nleft on the screen"));
    terminal.enter("stty -g >" + after() + "; echo done");
    EXPECT_TRUE(terminal.shows("\ndone"));
    EXPECT_EQ(content_of(before()), content_of(after()));
  }
  // The first words of the rows of the table.
  static std::vector<std::string> names(Tmux& terminal) {
    std::vector<std::string> names;
    const auto lines = terminal.lines();
    for (size_t i = 4; i + 1 < lines.size() && !lines[i].empty(); ++i)
      names.push_back(lines[i].substr(0, lines[i].find(' ')));
    return names;
  }
  size_t sessions() { return daemon_.call("session.list")["sessions"].size(); }

  std::string before() { return daemon_.directory() / "before"; }
  std::string after() { return daemon_.directory() / "after"; }
};

TEST_F(TopScreen, ShowsViewsSortsAndFiltersOnAScreenOf80x24) {
  Tmux terminal(80, 24);
  start(terminal);
  EXPECT_TRUE(terminal.shows("% of a CPU"));
  EXPECT_THAT(terminal.lines()[0], StartsWith("ktraced running"));
  EXPECT_THAT(terminal.lines()[23], HasSubstr("q quit"));
  terminal.type("<");
  EXPECT_TRUE(terminal.shows("EVENT^"));
  EXPECT_TRUE(std::ranges::is_sorted(names(terminal)));
  terminal.type("r");
  EXPECT_TRUE(terminal.shows("EVENTv"));
  EXPECT_TRUE(std::ranges::is_sorted(names(terminal), std::greater()));

  EXPECT_EQ(sessions(), 1U) << "the counters need no session";
  terminal.type("2");
  EXPECT_TRUE(terminal.shows("PROCESS"));
  EXPECT_TRUE(eventually([&] { return terminal.lines()[4].find(" % ") != std::string::npos; }))
      << terminal.text();
  terminal.type("ss");
  EXPECT_TRUE(terminal.shows("CPU %v"));
  EXPECT_EQ(sessions(), 2U);
  terminal.type("3");
  EXPECT_TRUE(terminal.shows("SYSTEM CALL"));
  terminal.type("/execv");
  EXPECT_TRUE(terminal.shows("filter: execv_"));
  terminal.press("Enter");
  EXPECT_TRUE(terminal.shows("filter: execv"));
  EXPECT_TRUE(eventually([&] {  // each look at the screen is an execve
    const auto found = names(terminal);
    return !found.empty() &&
           std::ranges::all_of(found, [](const std::string& name) { return name == "execve"; });
  })) << terminal.text();
  terminal.press("Escape");
  terminal.type("4");
  EXPECT_TRUE(terminal.shows("SINK"));
  EXPECT_TRUE(eventually([&] { return sessions() == 1; })) << "no view needs one any more";
  EXPECT_TRUE(eventually([&] { return names(terminal) == std::vector<std::string>{"recorder"}; }));
  terminal.type("q");
  expect_restored(terminal, "0");
}

TEST_F(TopScreen, TakesSnapshotsAndFollowsTheSizeOfTheScreen) {
  Tmux terminal(200, 50);
  start(terminal);
  EXPECT_THAT(terminal.lines()[49], HasSubstr("q quit"));
  terminal.type("?");
  EXPECT_TRUE(terminal.shows("Any key returns"));
  terminal.type("xt");
  EXPECT_TRUE(terminal.shows("records, "));
  const json snapshots = daemon_.call("snapshot.list")["snapshots"];
  ASSERT_EQ(snapshots.size(), 1U);
  EXPECT_THAT(terminal.text(),
              HasSubstr("snapshot " + snapshots[0]["name"].get<std::string>() + ": "));
  terminal.resize(40, 12);
  EXPECT_TRUE(eventually([&] {
    const auto lines = terminal.lines();
    return lines.size() == 12 && lines[11].starts_with("snapshot ") &&
           lines[3].starts_with("EVENT");
  })) << terminal.text();
  terminal.resize(120, 30);
  EXPECT_TRUE(terminal.shows("MISSED/S"));
  terminal.press("C-z");
  EXPECT_TRUE(terminal.shows("Stopped"));
  EXPECT_THAT(terminal.text(), HasSubstr("left on the screen"));
  terminal.enter("fg");
  EXPECT_TRUE(terminal.shows("MISSED/S"));
  terminal.type("4");
  EXPECT_TRUE(terminal.shows("SINK"));
  terminal.press("C-c");
  EXPECT_TRUE(terminal.shows("left on the screen"));
  terminal.enter("stty -g >" + after() + "; echo done");
  EXPECT_TRUE(terminal.shows("\ndone"));
  EXPECT_EQ(content_of(before()), content_of(after()));
}

TEST_F(TopScreen, ShowsTwoTablesOnWideScreensAndFollowsTheSizeToSmallOnes) {
  Process odd({"sh", "-c",
               "printf '\\346\\274\\242\\033[2J\\315\\270' >/proc/$$/comm; "
               "while :; do sleep 0.01; done"});
  Tmux terminal(200, 50);
  start(terminal);
  EXPECT_TRUE(terminal.shows("up to ")) << "the last rates";
  terminal.type("p");
  EXPECT_TRUE(eventually([&] {  // after a pause there are new ones
    terminal.type("pp");
    return terminal.text().find("up to ") == std::string::npos;
  })) << terminal.text();
  terminal.type("p");
  EXPECT_TRUE(terminal.shows("SESSION"));
  EXPECT_THAT(terminal.lines()[3], StartsWith("EVENT "));
  terminal.type("2/[2J");
  terminal.press("Enter");
  EXPECT_TRUE(terminal.shows("COMMAND"));
  const auto shows_the_odd_one = [&](size_t rows) {
    return eventually([&] {
      const auto lines = terminal.lines();
      return lines.size() == rows && lines[0].starts_with("ktraced ") &&
             lines[3].starts_with("PROCESS ") && lines[4].starts_with("漢\\x1b[2J") &&
             lines[rows - 1].starts_with("?help  q quit");
    });
  };
  EXPECT_TRUE(shows_the_odd_one(50)) << terminal.text();
  EXPECT_THAT(terminal.lines()[3], HasSubstr("HITS/S")) << "the events beside it";
  terminal.resize(40, 10);
  EXPECT_TRUE(shows_the_odd_one(10)) << terminal.text();
  EXPECT_THAT(terminal.lines()[3], Not(HasSubstr("HITS/S")));
  terminal.resize(500, 200);
  EXPECT_TRUE(shows_the_odd_one(200)) << terminal.text();
  EXPECT_THAT(terminal.lines()[3], HasSubstr("HITS/S"));
  terminal.type("q");
  expect_restored(terminal, "0");
}

TEST_F(TopScreen, RestoresTheScreenWhenTheDaemonDies) {
  Tmux terminal(80, 24);
  start(terminal);
  terminal.type("3");
  EXPECT_TRUE(terminal.shows("CALLS/S"));
  daemon_.end(SIGKILL);
  expect_restored(terminal, "69");
  EXPECT_THAT(terminal.text(), HasSubstr("ktracectl: "));
}

TEST_F(TopScreen, ShowsReadersWhatIsForAdministrators) {
  Tmux terminal(80, 24);
  start(terminal, "setpriv --reuid=65534 --regid=65534 --clear-groups");
  EXPECT_TRUE(terminal.shows("overhead: for administrators"));
  terminal.type("t");
  EXPECT_TRUE(terminal.shows("no snapshot: "));
  terminal.type("q");
  expect_restored(terminal, "0");
}

TEST_F(Top, CountsCallsAlsoWhileTheyAreRecordedInOneRecord) {
  expect_calls_of_a_process();
  daemon_.write_config({{"events", {{"syscalls", {{"record", "completed"}}}}}});
  daemon_.call("reload");
  ASSERT_EQ(daemon_.event_status("sys_completed")["enabled"], true);
  expect_calls_of_a_process();
}

TEST_F(Top, EnablesTheSelectedCallsForItsProcesses) {
  daemon_.write_config({{"events", {{"sched", true}}}});
  daemon_.call("reload");
  ASSERT_EQ(daemon_.event_status("sys_enter")["enabled"], false);
  WaitingTruth caller({"numbered", "0", "1000"});
  caller.go();
  const json frame =
      json::parse(daemon_.ctl_ok({"--json", "top", "--view", "processes", "--count", "1", "--pid",
                                  std::to_string(caller.pid()), "--syscall", "getpriority"}));
  caller.finish();
  ASSERT_EQ(frame["rows"].size(), 1U) << frame;
  EXPECT_GT(frame["rows"][0]["events_per_s"], 0);
  EXPECT_TRUE(frame["rows"][0]["cpu_percent"].is_null()) << "it has no other events";
}

TEST_F(Top, MeasuresTheCpuTimeOfProcessesByTheirSwitches) {
  const auto rows = [&](const std::vector<std::string>& options) {
    std::vector<std::string> words{"--json", "top", "--view", "processes", "--count", "1"};
    words.insert(words.end(), options.begin(), options.end());
    return json::parse(daemon_.ctl_ok(words))["rows"];
  };
  const json measured = rows({});
  EXPECT_TRUE(std::ranges::any_of(measured, [](const json& row) {  // it waits for what it reads
    return row["process"] == "ktracectl" && row["cpu_percent"] > 0;
  })) << measured;
  const json without = rows({"--event", "sys_enter"});
  EXPECT_FALSE(without.empty());
  EXPECT_TRUE(std::ranges::all_of(without, [](const json& row) {
    return row["cpu_percent"].is_null();
  })) << without;
  EXPECT_THAT(
      daemon_.ctl_ok({"top", "--view", "processes", "--count", "1", "--event", "sys_enter"}),
      HasSubstr("\nCPU %: needs sched_switch\n"));
}

TEST_F(Top, PrintsFramesIfItIsNotOnATerminal) {
  const std::string text = daemon_.ctl_ok({"top", "--interval", "100ms", "--count", "2"});
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_EQ(text.find("EVENT "), text.find("\nEVENT ") + 1);
  EXPECT_NE(text.find("\nktraced running"), std::string::npos) << "two frames: " << text;

  const Finished unknown = daemon_.ctl({"top", "--view", "processes", "--event", "nothing"});
  EXPECT_EQ(unknown.exit_code, 64);
  EXPECT_THAT(unknown.err, HasSubstr("nothing"));
}

}  // namespace
}  // namespace ktraced::live
