// SPDX-License-Identifier: BSD-2-Clause
// Each event carries the name and process that its thread had at that moment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "harness/client/show.h"
#include "harness/client/stream.h"
#include "harness/machine/puppet.h"
#include "harness/machine/scale.h"
#include "harness/traces/flight.h"
#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/truth.h"
#include "perfetto/read.h"

namespace ktraced::live {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The name shown with each numbered call of a process, by number.
std::map<uint64_t, std::string> names_of_calls(const Trace& trace, pid_t pid) {
  std::map<uint64_t, std::string> names;
  for (const json& event : trace.events("sys_enter", pid))
    if (name_of(event, "nr") == "getpriority")
      names[numbers_of(event, "args").at(1)] = event["comm"].get<std::string>();
  return names;
}

Trace shown(const std::string& path) {
  const Shown result = show({path});
  EXPECT_EQ(result.finished.exit_code, 0) << result.finished.err;
  return Trace(result.lines);
}

std::string taken_path(Daemon& daemon, json* taken = nullptr) {
  json result = daemon.call("snapshot.take");
  std::string path = result["path"].get<std::string>();
  if (taken != nullptr) *taken = std::move(result);
  return path;
}

using Names = std::map<uint64_t, std::string>;

// `ktracectl record` beside the test.
class Recording {
 public:
  Recording(Daemon& daemon, const std::string& name)
      : path_(daemon.directory() / name), process_(daemon.ctl_command({"record", "-o", path_})) {
    EXPECT_TRUE(eventually([&] { return !daemon.call("status")["subscribers"].empty(); }));
  }
  std::string finish() {
    process_.send(SIGINT);
    const Finished finished = process_.wait();
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return path_;
  }

 private:
  std::string path_;
  Process process_;
};

// Changes to threads while tracing is paused or no daemon runs.
struct Unseen {
  Puppet renamed;
  std::optional<Puppet> ended{std::in_place};
  std::optional<Puppet> successor;

  Unseen() {
    renamed.rename("old-name");
    ended->rename("ended");
  }
  [[nodiscard]] std::vector<pid_t> pids() const { return {renamed.pid(), ended->pid()}; }
  void happen() {
    renamed.rename("new-name");
    const pid_t pid = ended->pid();
    ended.reset();
    successor.emplace(pid);
    successor->rename("successor");
  }
  void call(unsigned long number) {
    renamed.call(number);
    (successor ? *successor : *ended).call(number);
  }
};

TEST(Names, AreCurrentInStreamAndRecordingAfterChangesWithoutAReader) {
  Daemon daemon(json{{"events", numbered_calls()}});
  Unseen threads;
  daemon.set_filter({{"pid", threads.pids()}});
  {
    Stream first(daemon);
    threads.call(1);
    EXPECT_EQ(names_of_calls(first.finish(), threads.renamed.pid()), (Names{{1, "old-name"}}));
  }
  ASSERT_TRUE(eventually([&] { return daemon.call("status")["subscribers"].empty(); }));
  threads.happen();
  Stream stream(daemon);
  threads.call(2);
  const Trace trace = stream.finish();
  EXPECT_EQ(names_of_calls(trace, threads.renamed.pid()), (Names{{2, "new-name"}}));
  EXPECT_EQ(names_of_calls(trace, threads.successor->pid()), (Names{{2, "successor"}}));
  ASSERT_TRUE(eventually([&] { return daemon.call("status")["subscribers"].empty(); }));
  threads.renamed.rename("newer-name");
  Recording recording(daemon, "recording");
  threads.call(3);
  const Trace recorded = shown(recording.finish());
  EXPECT_EQ(names_of_calls(recorded, threads.renamed.pid()), (Names{{3, "newer-name"}}));
  EXPECT_EQ(names_of_calls(recorded, threads.successor->pid()), (Names{{3, "successor"}}));
}

TEST(Names, AreCorrectBeforeAndAfterAPauseInASnapshot) {
  Daemon daemon(flight_config());
  Unseen threads;
  daemon.set_filter({{"pid", threads.pids()}});
  threads.call(1);
  daemon.call("pause");
  threads.happen();
  daemon.call("resume");
  threads.call(2);
  const Trace trace = shown(taken_path(daemon));
  EXPECT_EQ(names_of_calls(trace, threads.renamed.pid()),
            (Names{{1, "old-name"}, {2, "new-name"}}));
  EXPECT_EQ(names_of_calls(trace, threads.successor->pid()),
            (Names{{1, "ended"}, {2, "successor"}}));
}

TEST(Names, AreCorrectWhenResumedAtOnceAfterAPause) {
  Puppet puppet;
  Daemon daemon(flight_config_for({puppet.pid()}));
  Names expected;
  const auto pauses = static_cast<unsigned long>(usual_or_whole(8, 20));
  for (unsigned long i = 1; i <= pauses; ++i) {
    daemon.call("pause");
    const std::string name = "name-" + std::to_string(i);
    puppet.rename(name);
    daemon.call("resume");
    puppet.call(i);
    expected[i] = name;
  }
  EXPECT_EQ(names_of_calls(shown(taken_path(daemon)), puppet.pid()), expected);
}

TEST(Names, AreKeptForASnapshotWhenTheDaemonIsKilled) {
  Puppet puppet;
  Daemon daemon(flight_config_for({puppet.pid()}));
  puppet.rename("before");
  puppet.call(1);
  daemon.end(SIGKILL);
  puppet.rename("without");
  puppet.call(2);
  daemon.start();
  puppet.rename("after");
  puppet.call(3);
  EXPECT_EQ(names_of_calls(shown(taken_path(daemon)), puppet.pid()),
            (Names{{1, "before"}, {2, "without"}, {3, "after"}}));
}

TEST(Names, MakeASnapshotIncompleteWhenSomeWereDropped) {
  Puppet puppet;
  Daemon daemon(flight_config_for({puppet.pid()}));
  puppet.rename("first");
  puppet.call(1);
  for (int i = 0; i < 33000; ++i) puppet.rename(i % 2 == 0 ? "even" : "odd");
  puppet.call(2);
  json taken;
  const std::string path = taken_path(daemon, &taken);
  EXPECT_EQ(taken["complete"], false);
  EXPECT_THAT(taken["incomplete_because"].dump(), HasSubstr("threads may carry wrong names"));
  EXPECT_EQ(names_of_calls(shown(path), puppet.pid())[2], "odd");
  // The next snapshot begins after them.
  taken_path(daemon, &taken);
  EXPECT_TRUE(complete_but_for_missed(taken)) << taken;
}

// The names that text, reports and Perfetto show for some processes.
json reported(Daemon& daemon, const std::string& trace, const std::set<pid_t>& pids) {
  const std::string list = fmt::format("{}", fmt::join(pids, ","));
  json out = {{"text", daemon.ctl_ok({"show", trace, "--pid", list})}};
  for (const char* report : {"summary", "syscalls"}) {
    const json whole =
        json::parse(daemon.ctl_ok({"--json", "report", report, trace, "--top", "100000"}));
    for (const json& row : whole.at("processes").at("rows"))
      if (row.contains("pid") && row["pid"].is_number() && pids.contains(row["pid"].get<pid_t>()))
        out[report].push_back(row);
  }
  const std::string file = trace + ".pftrace";
  daemon.ctl_ok({"export", trace, "--to", "perfetto", "-o", file});
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const test::ReadTrace perfetto = test::read_perfetto(bytes);
  for (const auto& [pid, name] : perfetto.processes)
    if (pids.contains(pid)) out["processes"].push_back({pid, name});
  for (const auto& [tid, thread] : perfetto.threads)
    if (pids.contains(tid)) out["threads"].push_back({tid, thread.name, thread.pid});
  for (const test::ReadEvent& event : perfetto.events)
    if (pids.contains(static_cast<pid_t>(event.tid)))
      out["events"].push_back({event.ts, event.name, event.args});
  return out;
}

// Compares a snapshot and a recording of the same moments with the truth.
void compare_with_truth(json events, bool has_forks) {
  Daemon daemon({{"events", std::move(events)},
                 {"flight", {{"enabled", true}}},
                 {"filter", {{"follow", {::getpid()}}}}});
  Recording recording(daemon, "recording");
  WaitingTruth truth({"names", "8"});
  const json expected = truth.act();
  const std::string snapshot = taken_path(daemon);
  const std::string recorded = recording.finish();
  std::map<std::string, Trace> traces = {{"snapshot", shown(snapshot)},
                                         {"recording", shown(recorded)}};
  std::set<pid_t> pids;
  for (const json& call : expected["calls"]) pids.insert(call["pid"].get<pid_t>());
  for (const auto& [kind, trace] : traces) {
    std::map<uint64_t, std::string> expected_calls, actual_calls;
    for (const json& call : expected["calls"])
      expected_calls[call["n"].get<uint64_t>()] =
          call["pid"].dump() + " " + call["comm"].get<std::string>();
    for (pid_t pid : pids)
      for (const auto& [number, name] : names_of_calls(trace, pid))
        actual_calls[number] = std::to_string(pid) + " " + name;
    EXPECT_EQ(actual_calls, expected_calls) << kind;
    std::multimap<pid_t, std::string> expected_forks, actual_forks;
    for (const json& fork : expected["forks"])
      if (has_forks) expected_forks.emplace(fork["child"].get<pid_t>(), fork["comm"]);
    for (const json& event : trace.events("sched_process_fork", expected["pid"].get<pid_t>()))
      actual_forks.emplace(number_of(event, "child_pid"), event["args"]["child_comm"]);
    EXPECT_EQ(actual_forks, expected_forks) << kind;
  }
  auto of_truth = [&](const Trace& trace) {
    return trace.where([&](const json& event) {
      return event.contains("pid") && pids.contains(event["pid"].get<pid_t>());
    });
  };
  EXPECT_EQ(of_truth(traces["snapshot"]), of_truth(traces["recording"]));
  const json report = reported(daemon, snapshot, pids);
  EXPECT_EQ(report, reported(daemon, recorded, pids));
  // The successive processes with one pid, each by its last name.
  std::multimap<pid_t, std::string> expected_processes, processes;
  for (size_t i = 0; i < expected["calls"].size(); i += 6) {
    for (size_t last : {2U, 3U, 5U}) {
      const json& call = expected["calls"][i + last];
      expected_processes.emplace(call["pid"].get<pid_t>(), call["comm"]);
    }
  }
  for (const json& row : report["summary"])
    if (row["pid"] != expected["pid"]) processes.emplace(row["pid"].get<pid_t>(), row["comm"]);
  EXPECT_THAT(processes, testing::UnorderedElementsAreArray(expected_processes));
}

// What `show --uid` selects of a trace: the numbers of calls, and whether the process ends.
struct OfUser {
  std::vector<uint64_t> numbers;
  bool ends = false;
};

OfUser of_user(const std::string& path, const char* user, pid_t pid) {
  const Shown result = show({path, "--uid", user});
  EXPECT_EQ(result.finished.exit_code, 0) << result.finished.err;
  OfUser found;
  for (const json& event : result.lines) {
    if (event["pid"] != pid) continue;
    found.ends |= event["event"] == "sched_process_exit";
    const bool is_call = event["event"] == "sys_enter" || event["event"] == "sys_completed";
    if (is_call && name_of(event, "nr") == "getpriority")
      found.numbers.push_back(numbers_of(event, "args").at(1));
  }
  return found;
}

// Servers that drop root execute no program then.
class Users : public testing::TestWithParam<const char*> {};

TEST_P(Users, AreThoseThatAProcessHasBecomeWithoutExec) {
  WaitingTruth truth({"users", "65534"});
  json config = flight_config_for({truth.pid()}, {{"buffer_kb", 4096}});
  config["events"]["syscalls"]["record"] = GetParam();
  Daemon daemon(config);
  truth.act();
  const std::string path = taken_path(daemon);
  EXPECT_THAT(of_user(path, "0", truth.pid()).numbers, ElementsAre(1, 3, 5));
  EXPECT_THAT(of_user(path, "65534", truth.pid()).numbers, ElementsAre(2, 4, 6, 8));
}

INSTANTIATE_TEST_SUITE_P(Recorded, Users, testing::Values("both", "completed"),
                         [](const auto& form) { return std::string(form.param); });

TEST(UsersWithoutCalls, AreKnownWhereProgramsCanBeOnFunctions) {
  WaitingTruth truth({"users", "65534"});
  json config = flight_config_for({truth.pid()}, {{"buffer_kb", 4096}});
  config["events"] = {{"process", true}};
  Daemon daemon(config);
  truth.act();
  const std::string path = taken_path(daemon);
  EXPECT_TRUE(of_user(path, "65534", truth.pid()).ends);
}

TEST(Names, AreEqualInASnapshotAndARecording) { compare_with_truth(numbered_calls(), false); }

TEST(Names, AreEqualInASnapshotAndARecordingWithProcessEvents) {
  json events = numbered_calls();
  events["process"] = true;
  compare_with_truth(std::move(events), true);
}

}  // namespace
}  // namespace ktraced::live
