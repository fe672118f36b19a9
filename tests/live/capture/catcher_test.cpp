// SPDX-License-Identifier: BSD-2-Clause
// Catchers record the hits at which the kernel skips the program of an event: each once.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <set>
#include <string>
#include <vector>

#include "harness/client/daemon.h"
#include "harness/machine/bpf_view.h"
#include "harness/machine/scale.h"
#include "harness/machine/timer_interrupts.h"
#include "harness/traces/missed.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"
#include "kernel/programs/bpf_object.h"
#include "kernel/programs/features.h"
#include "schema/schema_from_btf.h"

namespace ktraced::live {
namespace {

const std::vector<std::string> kMemory = {"kmalloc",         "kfree",         "kmem_cache_alloc",
                                          "kmem_cache_free", "mm_page_alloc", "mm_page_free"};

// Allocates and frees, and takes timer interrupts that do so too, until it is killed.
class Interrupted {
 public:
  Interrupted() : pid_(::fork()) {
    if (pid_ != 0) return;
    take_timer_interrupts();
    for (;;) ::close(::open("/proc/self/stat", O_RDONLY));
  }
  Interrupted(const Interrupted&) = delete;
  Interrupted& operator=(const Interrupted&) = delete;
  ~Interrupted() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

// Tasks that make this many calls each, in turns. From Linux 7.0 on they are preempted in programs.
void make_calls_on_one_cpu(int tasks, uint64_t calls) {
  std::vector<pid_t> pids;
  for (int i = 0; i < tasks; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      cpu_set_t first;
      CPU_ZERO(&first);
      CPU_SET(0, &first);
      ::sched_setaffinity(0, sizeof(first), &first);
      for (uint64_t n = 0; n < calls; ++n) ::syscall(SYS_getppid);
      ::_exit(0);
    }
    pids.push_back(pid);
  }
  for (const pid_t pid : pids) ::waitpid(pid, nullptr, 0);
}

// With the flight recorder, so that enabled events are attached.
json config_of(const json& exact) {
  return {{"flight", {{"enabled", true}, {"buffer_kb", 1024}}}, {"exact", exact}};
}

uint64_t sum_of(const json& objects, const char* key) {
  uint64_t sum = 0;
  for (const auto& [name, object] : objects.items()) sum += object.value(key, uint64_t{0});
  return sum;
}

uint64_t caught(Daemon& daemon) { return sum_of(daemon.call("status")["catchers"], "caught"); }

uint64_t skipped(const Daemon& daemon) {
  uint64_t sum = 0;
  for (const std::string& name : kMemory) sum += program_counts(daemon.pid(), name).missed;
  return sum;
}

// Then first programs leave no notes, and no hits to catchers.
bool running_readable() {
  const auto schema = schema_from_object(bpf_object_bytes());
  const auto features = schema ? probe_features(*schema) : fail(ExitCode::software, "no schema");
  return features && features->flags.running_readable != 0;
}

bool catching(const Daemon& daemon) {
  for (const std::string& name : attached_program_names(daemon.pid()))
    if (name.starts_with("catch_")) return true;
  return false;
}

std::set<std::string> with_catcher(Daemon& daemon) {
  std::set<std::string> names;
  const json status = daemon.call("status");
  for (const auto& [name, catcher] : status["catchers"].items())
    if (catcher["attached"] == true) names.insert(name);
  return names;
}

// The programs are detached. Each hit that the first program did not leave, or the catcher caught,
// was recorded or rejected once; and no catcher caught a hit that the first program recorded.
void expect_each_hit_once(Daemon& daemon, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    ProgramCounts kernel;
    json ours, catcher;
    EXPECT_TRUE(eventually([&] {
      kernel = program_counts(daemon.pid(), name);
      const json status = daemon.call("status");
      ours = status["events"][name];
      catcher = status["catchers"].value(name, json::object());
      return ours["recorded"].get<uint64_t>() + ours["filtered"].get<uint64_t>() +
                 ours["dropped"].get<uint64_t>() + ours["ignored"].get<uint64_t>() ==
             kernel.runs - catcher.value("left", uint64_t{0}) +
                 catcher.value("caught", uint64_t{0});
    })) << name
        << ": " << kernel.runs << " runs, " << ours << catcher;
    EXPECT_LE(catcher.value("caught", uint64_t{0}),
              kernel.missed + catcher.value("left", uint64_t{0}))
        << name;
  }
}

TEST(Catcher, RecordsHitsInInterruptsOnce) {
  const RunStatistics counting;
  Daemon daemon(config_of(json::object()));
  daemon.enable(kMemory);
  EXPECT_EQ(with_catcher(daemon).size(), kMemory.size());
  if (!misses_are_counted()) GTEST_SKIP() << "this kernel does not count skipped hits";
  {
    const Interrupted load;
    EXPECT_TRUE(eventually([&] { return caught(daemon) >= 20; }));
  }
  const json status = daemon.call("status");
  const uint64_t missed = sum_of(status["events"], "missed");
  EXPECT_LE(missed, skipped(daemon) / 2) << status["catchers"];
  if (running_readable()) {
    EXPECT_EQ(sum_of(status["catchers"], "left"), 0) << status["catchers"];
  }
  daemon.disable(kMemory);
  expect_each_hit_once(daemon, kMemory);
}

TEST(Catcher, RecordsHitsOfCompetingTasksOnce) {
  const RunStatistics counting;
  const std::vector<std::string> names = {"sys_enter", "sys_exit"};
  Daemon daemon(config_of({{"syscalls", true}}));
  daemon.enable(names);
  make_calls_on_one_cpu(4, scaled(1'000'000));
  const json status = daemon.call("status");
  for (const std::string& name : names)
    EXPECT_LE(status["events"][name]["missed"].get<uint64_t>(),
              program_counts(daemon.pid(), name).missed / 2)
        << name << status["catchers"];
  daemon.disable(names);
  expect_each_hit_once(daemon, names);
}

TEST(Catcher, ComesAndGoesWhileHitsGoOn) {
  const RunStatistics counting;
  Daemon daemon(config_of({{"kmem", true}, {"syscalls", true}}));
  std::vector<std::string> names = kMemory;
  names.insert(names.end(), {"sys_enter", "sys_exit"});
  {
    const Interrupted load;
    for (int i = 0; i < 5; ++i) {
      daemon.enable(names);
      EXPECT_TRUE(catching(daemon));
      daemon.disable(names);
      EXPECT_TRUE(eventually([&] { return !catching(daemon); }));
    }
  }
  expect_each_hit_once(daemon, names);
}

// Its calls are those of one thread, and numbered.
class CatcherOfCalls : public testing::Test {
 protected:
  static json config(const json& exact, pid_t pid) {
    return for_processes({pid}, {{"events", {{"syscalls", {"sys_enter"}}}},
                                 {"flight", {{"enabled", true}, {"buffer_kb", 16384}}},
                                 {"exact", {{"syscalls", exact}}}});
  }
  // All calls up to now are in the flight recorder, each once.
  static void expect_all(Daemon& daemon, pid_t pid, uint64_t count) {
    const json taken = daemon.call("snapshot.take");
    EXPECT_TRUE(complete_but_for_missed(taken)) << taken;
    expect_all_but_missed(numbers_in(taken["path"].get<std::string>(), pid), count, daemon,
                          "sys_enter");
  }
};

TEST_F(CatcherOfCalls, AreRecordedOnceWithACatcher) {
  const uint64_t calls = scaled(200'000);
  WaitingTruth truth({"numbered", std::to_string(calls)});
  Daemon daemon(config(true, truth.pid()));
  EXPECT_TRUE(catching(daemon));
  truth.act();
  expect_all(daemon, truth.pid(), calls);
}

TEST_F(CatcherOfCalls, AreRecordedOnceWhileTheCatcherComesAndGoes) {
  WaitingTruth truth({"numbered", "0", "200"});
  Daemon daemon(config(false, truth.pid()));
  EXPECT_FALSE(catching(daemon));
  truth.go();
  for (int i = 0; i < 3; ++i)
    for (const bool exact : {true, false}) {
      daemon.write_config(config(exact, truth.pid()));
      daemon.call("reload");
      EXPECT_TRUE(eventually([&] { return catching(daemon) == exact; }));
    }
  const auto calls = truth.finish()["count"].get<uint64_t>();
  expect_all(daemon, truth.pid(), calls);
}

TEST_F(CatcherOfCalls, AreRecordedOnceWhileDaemonsAreKilled) {
  WaitingTruth truth({"numbered", "0", "200"});
  Daemon daemon(config(true, truth.pid()));
  truth.go();
  for (int i = 0; i < 3; ++i) {
    daemon.end(SIGKILL);
    daemon.start();
    EXPECT_TRUE(catching(daemon));
  }
  const auto calls = truth.finish()["count"].get<uint64_t>();
  EXPECT_TRUE(with_catcher(daemon).contains("sys_enter"));
  expect_all(daemon, truth.pid(), calls);
}

TEST(Catcher, IsNotAttachedWhereTheConfigurationHasNone) {
  Daemon daemon(config_of({{"kmem", false}, {"syscalls", false}}));
  daemon.enable(kMemory);
  daemon.enable({"sys_enter", "sys_exit", "sys_enter_string"});
  EXPECT_FALSE(catching(daemon));
  EXPECT_TRUE(with_catcher(daemon).empty());
}

TEST(Catcher, OfAnEventGoesWithIt) {
  Daemon daemon(config_of(json::object()));
  daemon.enable({"kfree", "kmalloc", "sched_switch"});
  EXPECT_EQ(with_catcher(daemon), (std::set<std::string>{"kfree", "kmalloc"}));
  daemon.disable({"kfree"});
  EXPECT_EQ(with_catcher(daemon), std::set<std::string>{"kmalloc"});
}

}  // namespace
}  // namespace ktraced::live
