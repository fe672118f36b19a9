// SPDX-License-Identifier: BSD-2-Clause
// Reports, compared with the ground truth and with the events they are made from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/syscall.h>

#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include "harness/client/process_rows.h"
#include "harness/client/stream.h"
#include "harness/traces/flight.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A snapshot of a daemon, read without it.
class Snapshot {
 public:
  explicit Snapshot(Daemon& daemon)
      : daemon_(daemon),
        path_(json::parse(daemon.ctl_ok({"--json", "snapshot", "take"}))["path"]) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] json report(const std::string& kind, const Command& options = {}) const {
    Command command{"--json", "report", kind, path_, "--top", "100000"};
    command.insert(command.end(), options.begin(), options.end());
    return json::parse(daemon_.ctl_ok(command));
  }
  // Those of the window of reports. A busy machine overwrites records on one CPU that are there on
  // the other.
  [[nodiscard]] std::vector<json> events() const {
    const uint64_t begin_ns = report("summary")["window"]["begin_ns"];
    std::istringstream text(daemon_.ctl_ok({"show", path_, "--format", "json"}));
    std::vector<json> events;
    for (std::string line; std::getline(text, line);) {
      json event = json::parse(line);
      if (event["ts"] >= begin_ns) events.push_back(std::move(event));
    }
    return events;
  }

 private:
  Daemon& daemon_;
  std::string path_;
};

// Records one process, or the whole machine (0); small, because it is read as JSON.
json recording(json events, pid_t pid = 0) {
  json config = {{"events", std::move(events)},
                 {"flight", {{"enabled", true}, {"buffer_kb", 1024}}}};
  if (pid != 0) config["filter"] = {{"pid", {pid}}};
  return config;
}

// The allocations of one size in the rows of a table.
const json* row_with(const json& table, const std::string& key, const json& value) {
  for (const json& row : table["rows"])
    if (row.contains(key) && row[key] == value) return &row;
  return nullptr;
}

// 20 messages, of which 8 are received: 12 stay allocated.
TEST(KmemReport, ReportsHeldMemoryExactly) {
  WaitingTruth truth({"messages", "20", "8", "607"});
  Daemon daemon(recording({{"kmem", {"kmalloc", "kfree"}}}, truth.pid()));
  const json expected = truth.act();
  const Snapshot snapshot(daemon);
  const json report = snapshot.report("kmem", {"--by", "held"});
  ::msgctl(expected["queue"], IPC_RMID, nullptr);

  const json* messages = nullptr;
  for (const json& row : report["call_sites"]["rows"])
    if (row["count"] == 20 && row["requested"] == 20 * expected["size"].get<int>()) messages = &row;
  ASSERT_NE(messages, nullptr) << report["call_sites"].dump(1);
  EXPECT_EQ((*messages)["freed"], 8);
  EXPECT_EQ((*messages)["held"], 12);
  EXPECT_EQ((*messages)["failed"], 0);
  EXPECT_EQ((*messages)["freed_unseen"], 0);
  const json given = (*messages)["given"];
  EXPECT_EQ((*messages)["held_bytes"], given.get<uint64_t>() / 20 * 12);
  EXPECT_EQ((*messages)["waste"], given.get<uint64_t>() - 20 * expected["size"].get<uint64_t>());
  EXPECT_EQ((*messages)["uncertain"], 12) << "the filter may have hidden a free by another task";
  EXPECT_THAT(report["caveats"][0].get<std::string>(), StartsWith("a filter was set"));
}

// Counts the events in the simplest way.
struct Accounts {
  std::map<std::string, long> types, sites, held;  // by type, by call site, by address
  long freed = 0, unknown = 0, elsewhere = 0, unseen = 0;
};

Accounts account_of(const std::vector<json>& events) {
  Accounts accounts;
  std::map<std::string, int> owners;  // address → CPU
  for (const json& event : events) {
    if (event.contains("lost")) continue;
    const std::string name = event["event"], ptr = event["args"]["ptr"];
    if (name == "kmalloc" || name == "kmem_cache_alloc") {
      if (ptr == "0x0") continue;
      ++accounts.types[name];
      ++accounts.sites[event["args"]["call_site"]];
      accounts.unseen += owners.contains(ptr) ? 1 : 0;
      owners[ptr] = event["cpu"];
    } else if (ptr != "0x0" && ptr != "0x10") {
      const auto owner = owners.find(ptr);
      if (owner == owners.end()) {
        ++accounts.unknown;
        continue;
      }
      ++accounts.freed;
      accounts.elsewhere += owner->second != event["cpu"] ? 1 : 0;
      owners.erase(owner);
    }
  }
  accounts.held["all"] = static_cast<long>(owners.size());
  return accounts;
}

TEST(KmemReport, AddsUpToTheEventsOfTheWholeMachine) {
  Daemon daemon(recording({{"kmem", {"kmalloc", "kfree", "kmem_cache_alloc", "kmem_cache_free"}}}));
  run_truth({"kmem", "50"});
  const Snapshot snapshot(daemon);
  const json report = snapshot.report("kmem");
  Accounts expected = account_of(snapshot.events());
  const json &kmalloc = report["types"]["kmalloc"], &cache = report["types"]["cache"];
  auto sum = [&](const char* key) { return kmalloc[key].get<long>() + cache[key].get<long>(); };
  EXPECT_EQ(kmalloc["count"], expected.types["kmalloc"]);
  EXPECT_EQ(cache["count"], expected.types["kmem_cache_alloc"]);
  EXPECT_EQ(sum("freed"), expected.freed);
  EXPECT_EQ(sum("freed_elsewhere"), expected.elsewhere);
  EXPECT_EQ(sum("freed_unseen"), expected.unseen);
  EXPECT_EQ(sum("held"), expected.held.at("all"));
  EXPECT_EQ(kmalloc["frees"]["unknown"].get<long>() + cache["frees"]["unknown"].get<long>(),
            expected.unknown);
  for (const auto& [site, count] : expected.sites) {
    long reported = 0;
    for (const json& row : report["call_sites"]["rows"])
      if (row["call_site"] == site) reported += row["count"].get<long>();
    EXPECT_EQ(reported, count) << site;
  }
  EXPECT_EQ(sum("count"), sum("freed") + sum("freed_unseen") + sum("held"));
}

// The main thread of each process ends with 7, unless it ends last.
TEST(ProcessReport, ShowsTheStatusThatWaitGives) {
  WaitingTruth truth({"ends"});
  json config = recording({{"process", true}});
  config["filter"] = {{"follow", {truth.pid()}}};
  Daemon daemon(config);
  const json expected = truth.act();
  const Snapshot snapshot(daemon);
  ASSERT_EQ(expected["children"].size(), 8U);
  for (const json& child : expected["children"]) {
    const json end = process_row(daemon, snapshot.path(), child["pid"])["end"];
    const auto column = [&](const char* name) {
      return process_column(daemon, snapshot.path(), child["pid"], name);
    };
    if (const int signal = child["signal"]; signal != 0) {
      const std::string name = std::string("SIG") + ::sigabbrev_np(signal);
      EXPECT_EQ(end["signal"]["name"], name) << child << end;
      EXPECT_EQ(column("exit_signal"), name) << child;
    } else {
      EXPECT_EQ(end["status"], child["exit_code"]) << child << end;
      EXPECT_EQ(column("exit_status"), child["exit_code"]) << child;
    }
  }
}

TEST(SyscallReport, ReportsCallsTimesAndErrors) {
  WaitingTruth truth({"syscalls"});
  Daemon daemon(recording({{"syscalls", true}}, truth.pid()));
  const json expected = truth.act();
  const Snapshot snapshot(daemon);
  const json report = snapshot.report("syscalls");
  std::map<std::string, long> errors;  // of known calls
  std::map<std::string, long> reported;
  for (const json& call : expected["calls"])
    if (call["ret"] == -2 || call["ret"] == -9 || call["ret"] == -22)
      ++errors[call["name"].get<std::string>() + call["ret"].dump()];
  for (const auto& [name, error, number] :
       {std::tuple{"openat", "ENOENT", -2}, {"close", "EBADF", -9}, {"kill", "EINVAL", -22}}) {
    const json* row = row_with(report["calls"], "syscall", name);
    ASSERT_NE(row, nullptr) << name;
    const std::string key = name + std::to_string(number);
    EXPECT_GE((*row)["errors"].value(error, 0), errors[key]) << name;
    EXPECT_GT((*row)["time"]["total_ns"], 0);
  }
  // Expects the values calculated from the events.
  std::map<uint64_t, uint64_t> begun;  // thread → time
  std::map<std::string, uint64_t> total;
  for (const json& event : snapshot.events()) {
    if (event.contains("lost")) continue;
    const uint64_t tid = event["tid"], ts = event["ts"];
    if (event["event"] == "sys_enter") begun[tid] = ts;
    if (event["event"] != "sys_exit" || !begun.contains(tid)) continue;
    if (event["args"].contains("syscall"))
      total[event["args"]["syscall"].get<std::string>()] += ts - begun[tid];
    begun.erase(tid);
  }
  for (const auto& [name, ns] : total) {
    const json* row = row_with(report["calls"], "syscall", name);
    ASSERT_NE(row, nullptr) << name;
    EXPECT_EQ((*row)["time"]["total_ns"], ns) << name;
  }
}

// Three children that exit, two that are killed, and two threads.
TEST(SyscallReport, HandlesCallsThatReturnTwiceOrNever) {
  WaitingTruth truth({"fork", "3", "2"});
  json config = recording({{"syscalls", true}, {"process", true}});
  config["filter"] = {{"follow", {truth.pid()}}};
  Daemon daemon(config);
  truth.act();
  const json missed = daemon.event_status("sys_exit")["missed"];
  const json missed_enters = daemon.event_status("sys_enter")["missed"];
  const json report = Snapshot(daemon).report("syscalls");
  EXPECT_LE(report["child_returns"], 7);
  EXPECT_GE(report["child_returns"].get<long>() + missed.get<long>(), 7);
  EXPECT_GE(report["ended"].get<long>() + missed_enters.get<long>(), 5);
  EXPECT_LE(report["ended"], 6) << "the program itself may have ended already";
  EXPECT_LE(report["killed"], 2) << "if they were in pause() already";
  EXPECT_LE(report["begun_before"].get<long>(), 1 + missed_enters.get<long>())
      << "the call in which it was waiting";
}

TEST(SchedReport, AddsUpToTheEvents) {
  WaitingTruth truth({"switch", "200"});
  Daemon daemon(recording({{"sched", true}}, truth.pid()));
  const json expected = truth.act();
  const Snapshot snapshot(daemon);
  const json report = snapshot.report("sched");
  std::map<long, long> switched_in, migrations;
  std::map<long, long> switches;  // by CPU
  for (const json& event : snapshot.events()) {
    if (event.contains("lost")) continue;
    if (event["event"] == "sched_switch") {
      ++switched_in[event["args"]["next_pid"]];
      ++switches[event["cpu"]];
    }
    if (event["event"] == "sched_migrate_task") ++migrations[event["args"]["pid"]];
  }
  switched_in.erase(0);  // the idle task does not wait
  for (const auto& [tid, count] : switched_in) {
    const json* row = row_with(report["threads"], "tid", tid);
    ASSERT_NE(row, nullptr) << tid;
    EXPECT_EQ((*row)["switched_in"], count) << tid;
    EXPECT_EQ((*row)["migrations"], migrations[tid]) << tid;
  }
  for (const json& cpu : report["cpus"])
    EXPECT_EQ(cpu["switches"], switches[cpu["cpu"].get<long>()]);
  const json* row = row_with(report["threads"], "comm", "truth");
  ASSERT_NE(row, nullptr);
  EXPECT_GT((*row)["on_cpu_ns"], 0);
  EXPECT_EQ(expected["comm"], "truth");
}

TEST(LiveReport, ReportsEventsWhileItRuns) {
  Daemon daemon(json{{"events", {{"syscalls", true}}}});
  WaitingTruth truth({"getppid", "500"});
  daemon.set_filter({{"pid", {truth.pid()}}});
  Process client(daemon.ctl_command({"--json", "report", "syscalls", "--live", "--top", "1000"}));
  ASSERT_TRUE(eventually(
      [&] { return !client.running() || !daemon.call("status")["subscribers"].empty(); }));
  ASSERT_TRUE(client.running()) << client.err();
  truth.act();
  client.send(SIGINT);
  const Finished finished = client.wait();
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const json report = json::parse(finished.out);
  const json* row = row_with(report["calls"], "syscall", "getppid");
  ASSERT_NE(row, nullptr) << finished.out;
  EXPECT_EQ((*row)["calls"], 500);
  EXPECT_EQ((*row)["time"]["count"], 500);
  EXPECT_EQ((*row)["failed"], 0);
}

// The configuration as installed records no system call.
TEST(LiveReport, EnablesTheSystemCallsThatItSelects) {
  WaitingTruth truth({"syscalls"});
  Daemon daemon(for_processes({truth.pid()}, {{"events", {{"sched", true}, {"process", true}}}}));
  const auto start = [&](const char* kind, const char* option, const std::string& value) {
    return std::make_unique<Process>(daemon.ctl_command(
        {"--json", "report", kind, "--live", option, value, "--pid", std::to_string(truth.pid())}));
  };
  const auto by_name = start("syscalls", "--syscall", "openat"),
             by_number = start("syscalls", "--syscall", std::to_string(SYS_openat)),
             by_error = start("syscalls", "--error", "EBADF"),
             files = start("files", "--error", "ENOENT");
  EXPECT_TRUE(eventually([&] { return daemon.call("status")["subscribers"].size() == 4; }));
  EXPECT_EQ(daemon.event_status("sys_enter")["enabled"], false) << "of the recorder";
  truth.act();
  const auto finish = [](Process& client) {
    client.send(SIGINT);
    const Finished finished = client.wait();
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return json::parse(finished.out);
  };
  const std::pair<Process*, const char*> selected[] = {
      {by_name.get(), "openat"}, {by_number.get(), "openat"}, {by_error.get(), "close"}};
  for (const auto& [client, call] : selected) {
    const json report = finish(*client);
    const json* row = row_with(report["calls"], "syscall", call);
    ASSERT_NE(row, nullptr) << call << ": " << report;
    EXPECT_EQ(report["calls"]["rows"].size(), 1U) << report;
    EXPECT_EQ((*row)["time"]["count"], (*row)["calls"]) << "they have both ends";
    EXPECT_THAT(report["caveats"].dump(), Not(HasSubstr("only some system calls")));
  }
  EXPECT_NE(row_with(finish(*files)["paths"], "path", "/nonexistent/ktraced-truth"), nullptr);
}

}  // namespace
}  // namespace ktraced::live
