// Snapshots of the flight recorder, taken while tracing goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sched.h>

#include <bit>
#include <csignal>
#include <list>

#include "harness/bpf_view.h"
#include "harness/daemon.h"
#include "harness/missed.h"
#include "harness/numbers.h"
#include "harness/scale.h"
#include "harness/tmpfs.h"
#include "harness/trace_files.h"
#include "harness/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Records getpriority(), whose calls the ground truth numbers.
json config_with(json flight = json::object()) {
  flight["enabled"] = flight.value("enabled", true);
  return {{"events", {{"syscalls", {{"only", {"getpriority"}}}}}}, {"flight", std::move(flight)}};
}

std::vector<std::string> names_of(const json& list) {
  std::vector<std::string> names;
  for (const json& snapshot : list["snapshots"]) names.push_back(snapshot["name"]);
  return names;
}

size_t entries_in(const fs::path& directory) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

// Takes a snapshot and returns the numbers in it.
std::vector<uint64_t> take_numbers(Daemon& daemon, pid_t pid) {
  const json taken = daemon.call("snapshot.take");
  EXPECT_TRUE(complete_but_for_missed(taken)) << taken;
  return numbers_in(taken["path"].get<std::string>(), pid);
}

// A process bound to one CPU that numbers its calls as fast as it can, so that everything in the
// flight ring of that CPU is its.
class Caller {
 public:
  explicit Caller(int cpu) : cpu_(cpu), truth_({"--cpu", std::to_string(cpu), "numbered", "0"}) {}

  [[nodiscard]] pid_t pid() const { return truth_.pid(); }
  void go() { truth_.go(); }
  // Stops it; all its numbers must have been seen then.
  uint64_t finish() { return truth_.finish()["count"]; }
  [[nodiscard]] uint64_t seen() const { return next_ - 1; }
  // Hits of all processes that the kernel skipped: then there are gaps.
  [[nodiscard]] uint64_t missed() const { return missed_; }

  // Calls recorded so far.
  [[nodiscard]] uint64_t recorded(Daemon& daemon) const {
    const json status = daemon.event_status("sys_enter");
    for (const json& counts : status["per_cpu"])
      if (counts["cpu"] == cpu_) return counts["recorded"];
    return 0;
  }

  // The next snapshot goes on where the one before ended: not a number is missing but those it
  // says were overwritten since, and none comes again.
  void check(const fs::path& snapshot) {
    uint64_t records = 0, overwritten = 0;
    const json manifest = manifest_of(snapshot);
    for (const json& cpu : manifest["cpus"])
      if (cpu["cpu"] == cpu_ && cpu["events"].contains("sys_enter")) {
        records = cpu["events"]["sys_enter"]["records"];
        overwritten = cpu["events"]["sys_enter"]["overwritten"];
      }
    const auto numbers = numbers_in(snapshot, pid());
    ASSERT_EQ(numbers.size(), records);
    missed_ += manifest["missed"].value("sys_enter", uint64_t{0});
    if (missed_ != 0) return check_order(numbers);
    next_ += overwritten;
    ASSERT_EQ(numbers, from_to(next_, next_ + records - 1)) << overwritten << " overwritten";
    next_ += records;
  }

 private:
  void check_order(const std::vector<uint64_t>& numbers) {
    for (uint64_t number : numbers) {
      ASSERT_GE(number, next_) << "out of order, or twice";
      next_ = number + 1;
    }
  }

  int cpu_;
  WaitingTruth truth_;
  uint64_t next_ = 1, missed_ = 0;
};

// The CPUs this process may use.
std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::sched_getaffinity(0, sizeof(set), &set), 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

// Every CPU is busy, and nobody waits for the snapshots: a ring may go round between two of them.
// The numbers say exactly how often.
TEST(Flight, SnapshotWhileTracingLosesNothing) {
  const long snapshots = 2 + scaled(18);
  const auto buffer_kb = std::bit_ceil(static_cast<uint64_t>(scaled(16384)));
  Tmpfs memory("size=2g");
  Daemon daemon(
      config_with({{"buffer_kb", buffer_kb}, {"max_snapshots", 2}, {"directory", memory.path()}}));
  daemon.disable({"sys_exit"});
  std::list<Caller> callers;
  std::vector<pid_t> pids;
  for (int cpu : usable_cpus()) pids.push_back(callers.emplace_back(cpu).pid());
  daemon.set_filter({{"pid", pids}});
  WaitingTruth load({"load", "1"});
  load.go();
  for (Caller& caller : callers) caller.go();

  auto take_and_check = [&] {
    const json taken = daemon.call("snapshot.take");
    ASSERT_TRUE(complete_but_for_missed(taken)) << taken;
    for (Caller& caller : callers) caller.check(taken["path"].get<std::string>());
  };
  for (long i = 0; i < snapshots; ++i) {
    for (Caller& caller : callers) {
      const uint64_t before = caller.recorded(daemon);
      ASSERT_TRUE(eventually([&] { return caller.recorded(daemon) > before; }));
    }
    ASSERT_NO_FATAL_FAILURE(take_and_check()) << "snapshot " << i;
  }
  load.finish();
  std::vector<uint64_t> counts;
  for (Caller& caller : callers) counts.push_back(caller.finish());
  ASSERT_NO_FATAL_FAILURE(take_and_check());
  for (const Caller& caller : callers) {
    EXPECT_LE(caller.seen(), counts.front());
    if (caller.missed() == 0) {
      EXPECT_EQ(caller.seen(), counts.front());
    }
    counts.erase(counts.begin());
  }
}

TEST(Flight, WhatASmallRingHasOverwrittenIsCounted) {
  const auto calls = static_cast<uint64_t>(scaled(100'000));
  Daemon daemon(config_with({{"buffer_kb", 64}}));
  daemon.disable({"sys_exit"});
  WaitingTruth truth({"--cpu", "0", "numbered", std::to_string(calls)});
  daemon.set_filter({{"pid", {truth.pid()}}});
  truth.act();
  EXPECT_GT(daemon.event_status("sys_enter")["overwritten"], 0);
  const json taken = daemon.call("snapshot.take");
  const fs::path path = taken["path"].get<std::string>();
  EXPECT_TRUE(complete_but_for_missed(taken)) << taken;
  const auto numbers = numbers_in(path, truth.pid());
  const json account = manifest_of(path)["cpus"][0]["events"]["sys_enter"];
  EXPECT_EQ(account["records"], numbers.size());
  EXPECT_EQ(account["overwritten"], calls - numbers.size());
  EXPECT_EQ(numbers, from_to(calls - numbers.size() + 1, calls));
}

TEST(Snapshot, OnCommandIsSafeOnDiskWhenItReturns) {
  Daemon daemon(config_with());
  WaitingTruth truth({"numbered", "1000"});
  truth.act();
  const json taken = json::parse(
      daemon.ctl_ok({"--json", "snapshot", "take", "--name", "incident", "--reason", "slow"}));
  EXPECT_EQ(taken["name"], "incident");
  EXPECT_TRUE(complete_but_for_missed(taken));
  EXPECT_GE(taken["records"], 2000);
  const fs::path path = taken["path"].get<std::string>();
  EXPECT_EQ(path, daemon.directory() / "snapshots/incident");
  EXPECT_EQ(numbers_in(path, truth.pid()), from_to(1, 1000));

  const json listed = json::parse(daemon.ctl_ok({"--json", "snapshot", "list"}));
  ASSERT_THAT(names_of(listed), ElementsAre("incident"));
  EXPECT_EQ(listed["snapshots"][0]["reason"], "slow");
  EXPECT_EQ(listed["snapshots"][0]["records"], taken["records"]);
  EXPECT_THAT(daemon.ctl_ok({"snapshot", "list"}), HasSubstr("complete"));
  EXPECT_EQ(daemon.ctl_ok({"snapshot", "delete", "incident"}), "deleted: incident\n");
  EXPECT_EQ(daemon.ctl_ok({"snapshot", "list"}), "no snapshots\n");
  EXPECT_FALSE(fs::exists(path));
}

TEST(Snapshot, WithoutWaitingFollowsSoon) {
  Daemon daemon(config_with());
  const json taken = json::parse(daemon.ctl_ok({"--json", "snapshot", "take", "--no-wait"}));
  EXPECT_FALSE(taken.contains("complete"));
  EXPECT_TRUE(eventually([&] { return fs::exists(taken["path"].get<std::string>()); }));
}

TEST(Snapshot, OnSignal) {
  Daemon daemon(config_with());
  WaitingTruth truth({"numbered", "1000"});
  truth.act();
  daemon.send(SIGUSR1);
  json list;
  ASSERT_TRUE(eventually([&] {
    list = daemon.call("snapshot.list")["snapshots"];
    return list.size() == 1;
  }));
  EXPECT_EQ(list[0]["reason"], "SIGUSR1");
  EXPECT_EQ(list[0]["requested_by"], "signal");
  EXPECT_TRUE(list[0]["name"].get<std::string>().starts_with("snapshot-"));
  EXPECT_EQ(numbers_in(list[0]["path"].get<std::string>(), truth.pid()), from_to(1, 1000));
}

TEST(Snapshot, OverTheSocketByAThirdProgram) {
  Daemon daemon(config_with());
  constexpr const char* kClient = R"(
import json, socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
request = {"jsonrpc": "2.0", "id": 7, "method": "snapshot.take", "params": {"reason": "python"}}
client.sendall(json.dumps(request).encode() + b"\n")
client.shutdown(socket.SHUT_WR)
print(client.makefile().readline(), end="")
)";
  const Finished python = run({"python3", "-c", kClient, daemon.socket()});
  ASSERT_EQ(python.exit_code, 0) << python.err;
  const json answer = json::parse(python.out);
  EXPECT_EQ(answer["id"], 7);
  EXPECT_TRUE(answer["result"]["complete"]) << answer;
  EXPECT_EQ(daemon.call("snapshot.list")["snapshots"][0]["reason"], "python");
}

TEST(Snapshot, IsAnErrorWhileTheRecorderIsOff) {
  Daemon daemon(config_with({{"enabled", false}}));
  const Finished taken = daemon.ctl({"snapshot", "take"});
  EXPECT_EQ(taken.exit_code, 69);
  EXPECT_THAT(taken.err, HasSubstr("flight recorder is off"));
  daemon.send(SIGUSR1);
  EXPECT_TRUE(eventually([&] {
    return daemon.log().find("no snapshot on SIGUSR1: the flight recorder is off") !=
           std::string::npos;
  }));
}

TEST(Flight, UsesMemoryAndProgramsOnlyWhileItIsOn) {
  Daemon daemon(config_with({{"enabled", false}, {"buffer_kb", 1024}, {"banks", 3}}));
  auto flight = [&] { return daemon.call("status")["flight"]; };
  EXPECT_EQ(flight()["enabled"], false);
  EXPECT_EQ(flight()["bytes"], 0);
  EXPECT_THAT(attached_program_names(daemon.pid()), IsEmpty());

  EXPECT_THAT(daemon.ctl_ok({"snapshot", "enable"}), HasSubstr("on"));
  EXPECT_EQ(flight()["enabled"], true);
  EXPECT_EQ(flight()["banks"], 3);
  EXPECT_EQ(flight()["ring_bytes"], 1024 * 1024);
  const auto rings = 3 * static_cast<uint64_t>(std::thread::hardware_concurrency());
  EXPECT_GE(flight()["bytes"], rings * 1024 * 1024);
  EXPECT_LT(flight()["bytes"], rings * (1024 + 64) * 1024);
  WaitingTruth truth({"numbered", "100"});
  truth.act();
  EXPECT_EQ(take_numbers(daemon, truth.pid()), from_to(1, 100));

  EXPECT_EQ(daemon.ctl_ok({"snapshot", "disable"}), "flight recorder: off\n");
  EXPECT_EQ(flight()["enabled"], false);
  EXPECT_EQ(flight()["bytes"], 0);
  EXPECT_TRUE(eventually([&] { return attached_program_names(daemon.pid()).empty(); }));
  daemon.call("snapshot.enable");
  EXPECT_TRUE(take_numbers(daemon, truth.pid()).empty()) << "the history was given up";
}

TEST(Flight, IsTurnedOnAndOffByReload) {
  Daemon daemon(config_with({{"enabled", false}}));
  daemon.write_config(config_with());
  EXPECT_EQ(daemon.call("reload")["changed"], json::array({"flight"}));
  EXPECT_EQ(daemon.call("status")["flight"]["enabled"], true);
  daemon.write_config(config_with({{"enabled", false}}));
  EXPECT_EQ(daemon.call("reload")["changed"], json::array({"flight"}));
  EXPECT_EQ(daemon.call("status")["flight"]["bytes"], 0);
}

TEST(Snapshot, WithABadNameIsRefusedAndChangesNothing) {
  Daemon daemon(config_with());
  WaitingTruth truth({"numbered", "1000"});
  truth.act();
  for (const std::string& name :
       {std::string("a/b"), std::string("../a"), std::string(".."), std::string("."),
        std::string("/etc/a"), std::string("a..b"), std::string("a\nb"), std::string("\x1b[2J"),
        std::string("\u009b2J"), std::string("\u202etxt"), std::string(" "), std::string(300, 'x'),
        std::string(""), std::string("a.partial")}) {
    const Finished taken = daemon.ctl({"snapshot", "take", "--name", name});
    EXPECT_EQ(taken.exit_code, 64) << name;
    EXPECT_EQ(std::count(taken.err.begin(), taken.err.end(), '\n'), 1) << taken.err;
    EXPECT_EQ(daemon.ctl({"snapshot", "delete", name}).exit_code, 64) << name;
  }
  EXPECT_FALSE(fs::exists(daemon.directory() / "snapshots"));
  EXPECT_EQ(take_numbers(daemon, truth.pid()), from_to(1, 1000));
}

TEST(Snapshot, WithAReasonThatWouldForgeTheLogIsRefusedAndChangesNothing) {
  Daemon daemon(config_with());
  WaitingTruth truth({"numbered", "1000"});
  truth.act();
  for (const char* reason : {"evil\x1b[2J", "evil\n[error] line", "\u009b2J", "\u202etxt"}) {
    const Finished taken = daemon.ctl({"snapshot", "take", "--reason", reason});
    EXPECT_EQ(taken.exit_code, 64) << reason;
    EXPECT_THAT(taken.err, HasSubstr("the reason of a snapshot must be one line of text"));
  }
  EXPECT_THAT(daemon.log(), testing::Not(HasSubstr("evil")));
  EXPECT_EQ(take_numbers(daemon, truth.pid()), from_to(1, 1000));
}

TEST(Snapshot, WithANameThatIsTakenIsRefused) {
  Daemon daemon(config_with());
  daemon.call("snapshot.take", {{"name", "one"}});
  const json error = daemon.call_error("snapshot.take", {{"name", "one"}});
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("there is a snapshot 'one' already"));
  EXPECT_EQ(error["data"]["exit_code"], 64);
}

TEST(Snapshot, BeyondTheLimitRemovesTheOldest) {
  Daemon daemon(config_with({{"max_snapshots", 3}}));
  for (const char* name : {"d", "a", "c", "e", "b"}) daemon.call("snapshot.take", {{"name", name}});
  const json list = daemon.call("snapshot.list");
  EXPECT_THAT(names_of(list), ElementsAre("c", "e", "b"));
  EXPECT_EQ(entries_in(daemon.directory() / "snapshots"), 3U);
  EXPECT_THAT(daemon.log(), HasSubstr("removed the snapshot d"));
}

TEST(Snapshot, BeyondTheLimitNoRecordingInTheSameDirectoryIsRemoved) {
  Daemon daemon(config_with({{"max_snapshots", 1}}));
  daemon.call("snapshot.take", {{"name", "a"}});
  const fs::path path = daemon.directory() / "snapshots/mine";
  ASSERT_EQ(daemon.ctl({"record", "-o", path, "--", "true"}).exit_code, 0);
  daemon.call("snapshot.take", {{"name", "b"}});
  EXPECT_TRUE(fs::exists(path));
  EXPECT_FALSE(fs::exists(daemon.directory() / "snapshots/a"));
  EXPECT_TRUE(fs::exists(daemon.directory() / "snapshots/b"));
}

TEST(Snapshot, BeyondTheTotalSizeRemovesTheOldestButNotItself) {
  Daemon daemon(config_with({{"max_total_mb", 1}}));
  daemon.call("snapshot.take", {{"name", "small"}});
  run_truth({"numbered", "50000"});
  daemon.call("snapshot.take", {{"name", "large"}});
  EXPECT_THAT(names_of(daemon.call("snapshot.list")), ElementsAre("large"));
}

}  // namespace
}  // namespace ktraced::live
