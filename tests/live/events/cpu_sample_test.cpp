// SPDX-License-Identifier: BSD-2-Clause
// cpu_sample: what each CPU does, at a fixed period.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/client/daemon.h"
#include "harness/machine/temp_dir.h"
#include "harness/traces/trace_files.h"
#include "trace/metadata/stack_table.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr uint64_t kPeriodNs = 1'000'000;

struct Sample {
  uint32_t tid = 0;
  uint64_t ts = 0;
  record_context context = CONTEXT_UNKNOWN;
  rec_cpu_sample event{};
  stack_numbers stacks{};
};

// The samples of a trace by CPU, and all of its stacks.
struct Samples {
  explicit Samples(const fs::path& trace) {
    for_each_packet(trace, [this](const PacketView& packet) {
      packet.for_each_record([&](const RecordView& record) {
        stacks.add(record);
        if (record.id() != EVENT_cpu_sample) return;
        Sample sample{.tid = record.tid(),
                      .ts = record.ts(),
                      .context = record.context(),
                      .event = {},
                      .stacks = record.stacks()};
        std::memcpy(&sample.event, record.bytes().data(), sizeof(sample.event));
        cpus[packet.header().cpu_id].push_back(sample);
      });
    });
  }
  void for_each(const std::function<void(const Sample&)>& visit) const {
    for (const auto& [cpu, samples] : cpus) std::ranges::for_each(samples, visit);
  }
  [[nodiscard]] uint64_t count(const std::function<bool(const Sample&)>& which) const {
    uint64_t count = 0;
    for_each([&](const Sample& sample) { count += which(sample) ? 1 : 0; });
    return count;
  }
  std::map<uint32_t, std::vector<Sample>> cpus;
  StackTable stacks;
};

json sampling_config(json more = json::object()) {
  json config = {{"sampling", {{"period", "1ms"}}},
                 {"flight", {{"enabled", true}, {"buffer_kb", 4096}}}};
  config.update(more);
  return config;
}

json sampling_of_this_process() { return for_processes({::getpid()}, sampling_config()); }

fs::path snapshot_of(Daemon& daemon, const std::string& name) {
  return daemon.call("snapshot.take", {{"name", name}})["path"].get<std::string>();
}

uint64_t cpu_time_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// Spends so much CPU time in user mode; asks for the time now and then only.
#define SPEND(ns)                                                           \
  uint64_t work = 0;                                                        \
  for (const uint64_t until = cpu_time_ns() + (ns); cpu_time_ns() < until;) \
    for (int i = 0; i < 20'000; ++i) asm volatile("" : "+r"(work));         \
  asm volatile("" : : "r"(work), "r"(__builtin_frame_address(0)))

__attribute__((noinline)) void spend_most(uint64_t ns) { SPEND(ns); }
__attribute__((noinline)) void spend_some(uint64_t ns) {
  SPEND(ns);
  asm volatile("" : : "i"(1));  // the compiler would merge equal functions
}

// Where the two functions were called from, as stacks have it.
struct Callers {
  uint64_t most = 0, some = 0;
};

template <int Function>
__attribute__((noinline)) uint64_t call(uint64_t ns) {
  Function == 0 ? spend_most(ns) : spend_some(ns);
  asm volatile("" : : "i"(Function), "r"(__builtin_frame_address(0)));
  return reinterpret_cast<uint64_t>(__builtin_return_address(0));
}

Callers spend(uint64_t ns) {
  Callers callers;
  for (uint64_t spent = 0; spent < ns; spent += 20'000'000) {
    callers.most = call<0>(15'000'000);
    callers.some = call<1>(5'000'000);
  }
  return callers;
}

// One function spends three quarters of the CPU time of this thread.
TEST(CpuSample, SharesAreThoseOfTheFunctions) {
  Daemon daemon(sampling_of_this_process());
  const Callers callers = spend(3'000'000'000);
  const Samples samples(snapshot_of(daemon, "shares"));
  uint64_t most = 0, some = 0;
  samples.for_each([&](const Sample& sample) {
    const Stack* const stack = samples.stacks.find(sample.stacks.user);
    if (stack == nullptr) return;
    const auto has = [&](uint64_t caller) {
      return std::ranges::find(stack->frames, caller) != stack->frames.end();
    };
    most += has(callers.most) ? 1 : 0;
    some += has(callers.some) ? 1 : 0;
    if (sample.event.mode == SAMPLE_USER) {
      EXPECT_EQ(stack->frames.front(), sample.event.user_ip);
      EXPECT_EQ(sample.event.ip, 0U);
      EXPECT_EQ(sample.stacks.kernel, 0U);
    }
  });
  ASSERT_GT(most + some, 500U);
  EXPECT_NEAR(static_cast<double>(most) / static_cast<double>(most + some), 0.75, 0.06);
  EXPECT_EQ(samples.stacks.ambiguous(), 0U);
}

TEST(CpuSample, SaysWhoseTheCpuIs) {
  Daemon daemon(sampling_config());
  const pid_t self = ::getpid();
  uint64_t idle = 0, in_call = 0;
  for (int i = 0; idle == 0 || in_call == 0; ++i) {
    spend(20'000'000);
    for (int reads = 0; reads < 200; ++reads)
      std::stringstream() << std::ifstream("/proc/self/smaps").rdbuf();
    ::usleep(50'000);
    const Samples samples(snapshot_of(daemon, fmt::format("modes-{}", i)));
    samples.for_each([&](const Sample& sample) {
      const bool in_kernel = sample.event.mode != SAMPLE_USER;
      EXPECT_EQ(sample.event.ip != 0, in_kernel);
      EXPECT_EQ(sample.event.user_ip != 0, !in_kernel);
      EXPECT_GE(sample.event.periods, 1U);
      EXPECT_TRUE(sample.tid != 0 || sample.stacks.user == 0);
      if (sample.event.mode == SAMPLE_IDLE) {
        EXPECT_EQ(sample.tid, 0U);
        ++idle;
      }
      if (sample.tid == static_cast<uint32_t>(self) && sample.event.mode == SAMPLE_KERNEL) {
        ++in_call;
        EXPECT_NE(sample.stacks.kernel, 0U);
        EXPECT_NE(sample.stacks.user, 0U);
      }
    });
  }
}

// In how many samples was a BPF program the innermost function?
uint64_t samples_in_programs(const json& functions) {
  uint64_t samples = 0;
  for (const json& row : functions["rows"])
    if (row["function"].get<std::string>().starts_with("bpf_prog_"))
      samples += row["self"].get<uint64_t>();
  return samples;
}

// The daemon's own programs run at each call, and a sample may hit in them. Then the time is
// theirs: the innermost function is the program.
TEST(CpuSample, InABpfProgramIsOfThatProgram) {
  Daemon daemon(for_processes({::getpid()}, sampling_config({{"sampling", {{"period", "100us"}}},
                                                             {"events", {{"syscalls", true}}}})));
  for (int i = 0, found = 0; found == 0; ++i) {
    for (int calls = 0; calls < 500'000; ++calls) ::syscall(SYS_getppid);
    const fs::path trace = snapshot_of(daemon, fmt::format("programs-{}", i));
    const json report =
        json::parse(daemon.ctl_ok({"--json", "report", "cpu", trace, "--top", "1000"}));
    if (samples_in_programs(report["functions"]) == 0) continue;
    ++found;
    // Where the sample is, is what its stack begins with.
    const Samples samples(trace);
    samples.for_each([&](const Sample& sample) {
      const Stack* const stack = samples.stacks.find(sample.stacks.kernel);
      if (stack == nullptr || stack->frames.empty()) return;
      EXPECT_TRUE(stack->sampled);
      EXPECT_EQ(stack->frames.front(), sample.event.ip);
    });
    EXPECT_EQ(daemon.ctl_ok({"query", trace, "--csv",
                             "SELECT count(*) > 0 AS found FROM samples JOIN frames ON stack = "
                             "kernel_stack WHERE depth = 0 AND symbol LIKE 'bpf_prog_%'"}),
              "found\n1\n");
  }
}

// The flags of a thread, PF_… in the kernel; 0: it has ended.
uint64_t flags_of(uint32_t tid) {
  std::ifstream file(fmt::format("/proc/{}/stat", tid));
  std::string line;
  std::getline(file, line);
  std::istringstream fields(line.substr(std::min(line.rfind(')'), line.size() - 1) + 1));
  std::string state;
  uint64_t parent = 0, group = 0, session = 0, terminal = 0, flags = 0;
  int64_t foreground = 0;
  fields >> state >> parent >> group >> session >> terminal >> foreground >> flags;
  return flags;
}

// The kernel frees what processes have mapped, and writes what they have written, in threads of its
// own.
TEST(CpuSample, OfAThreadOfTheKernelSaysSo) {
  constexpr uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD
  Daemon daemon(sampling_config({{"sampling", {{"period", "250us"}}}}));
  TempDir directory;
  uint64_t found = 0;
  for (int i = 0; found == 0; ++i) {
    for (int files = 0; files < 50; ++files) {
      const std::string path = directory.path() / std::to_string(files);
      std::ofstream(path) << std::string(1 << 20, 'x');
      const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
      ::fsync(file);
      ::close(file);
    }
    const Samples samples(snapshot_of(daemon, fmt::format("threads-{}", i)));
    samples.for_each([&](const Sample& sample) {
      const uint64_t flags = sample.tid == 0 ? 0 : flags_of(sample.tid);
      if (sample.event.mode == SAMPLE_KERNEL_THREAD) {
        EXPECT_TRUE(flags == 0 || (flags & kKernelThread) != 0) << sample.tid;
        EXPECT_EQ(sample.stacks.user, 0U);
        ++found;
      } else if (sample.event.mode == SAMPLE_USER && flags != 0) {
        EXPECT_EQ(flags & kKernelThread, 0U) << sample.tid;
      }
    });
  }
}

// So a reader knows how much time a sample stands for, also after a time without any.
TEST(CpuSample, SaysHowManyPeriodsHavePassed) {
  Daemon daemon(sampling_config());
  spend(300'000'000);
  const Samples samples(snapshot_of(daemon, "periods"));
  uint64_t compared = 0, fewer = 0;
  for (const auto& [cpu, list] : samples.cpus)
    for (size_t i = 1; i < list.size(); ++i, ++compared) {
      const uint64_t passed =
          std::max<uint64_t>(1, (list[i].ts - list[i - 1].ts + kPeriodNs / 2) / kPeriodNs);
      EXPECT_LE(list[i].event.periods, passed);
      if (list[i].event.periods != passed) ++fewer;
    }
  EXPECT_GT(compared, 50U);
  const json status = daemon.call("status"), sampling = status["sampling"];
  // Periods are counted from samples of threads that the filter leaves out too: the daemon's own.
  EXPECT_LE(fewer, status["events"]["cpu_sample"]["filtered"].get<uint64_t>());
  EXPECT_EQ(sampling["period"], "1ms");
  EXPECT_FALSE(sampling["cpus"].empty());
  EXPECT_GE(sampling["samples"].get<uint64_t>(), compared);
  EXPECT_THAT(daemon.ctl_ok({"status"}), HasSubstr("sampling: each 1ms on "));
}

// Samples have the clock of all events: each is of the thread that the last switch of its CPU has
// brought. The kernel takes none between the event of a switch and the switch. Only switches away
// from the daemon have no event: then the next one is away from another thread than was brought.
TEST(CpuSample, IsInTheOrderOfTheOtherEvents) {
  Daemon daemon(sampling_config({{"events", {{"sched", {"sched_switch"}}}}}));
  {
    std::jthread other([](const std::stop_token& end) {
      while (!end.stop_requested()) {
        spend_some(300'000);
        ::usleep(500);
      }
    });
    spend(400'000'000);
  }
  const fs::path trace = snapshot_of(daemon, "ordered");
  std::istringstream lines(daemon.ctl_ok({"show", trace, "--format", "json"}));
  std::map<uint64_t, uint64_t> running;               // CPU → thread
  std::map<uint64_t, std::vector<uint64_t>> sampled;  // CPU → threads, since the last switch
  uint64_t before = 0, compared = 0, wrong = 0;
  std::set<uint64_t> threads;
  for (std::string line; std::getline(lines, line);) {
    const json event = json::parse(line);
    const auto ts = event["ts"].get<uint64_t>(), cpu = event["cpu"].get<uint64_t>();
    EXPECT_GE(ts, std::exchange(before, ts));
    if (event["event"] == "sched_switch") {
      const std::vector<uint64_t> samples = std::exchange(sampled[cpu], {});
      if (running.contains(cpu) && event["args"]["prev_pid"] == running[cpu]) {
        compared += samples.size();
        wrong += samples.size() - std::ranges::count(samples, running[cpu]);
        if (!samples.empty()) threads.insert(running[cpu]);
      }
      running[cpu] = event["args"]["next_pid"].get<uint64_t>();
    } else if (event["event"] == "cpu_sample") {
      sampled[cpu].push_back(event["tid"].get<uint64_t>());
    }
  }
  EXPECT_GT(compared, 100U);
  EXPECT_EQ(wrong, 0U) << "of " << compared;
  EXPECT_GE(threads.size(), 2U);
}

TEST(CpuSample, GoesOnWithoutADaemonAndWithTheNext) {
  Daemon daemon(sampling_of_this_process());
  timespec now{};
  std::vector<uint64_t> ends;
  const auto spend_and_note = [&] {
    spend(200'000'000);
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    ends.push_back(static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 +
                   static_cast<uint64_t>(now.tv_nsec));
  };
  spend_and_note();
  daemon.end(SIGKILL);
  spend_and_note();
  daemon.start();
  spend_and_note();
  const fs::path trace = snapshot_of(daemon, "adopted");
  std::vector<uint64_t> counts(ends.size());
  uint64_t before = 0;
  const Samples samples(trace);
  for (size_t i = 0; i < ends.size(); before = ends[i++])
    counts[i] = samples.count(
        [&](const Sample& sample) { return sample.ts > before && sample.ts <= ends[i]; });
  EXPECT_THAT(counts, testing::Each(testing::Gt(20U)));
  const json manifest = manifest_of(trace);
  EXPECT_TRUE(manifest["complete"]) << manifest["incomplete_because"];
  EXPECT_EQ(manifest["config"]["sampling"]["period"], "1ms");
}

TEST(CpuSample, IsOfTheSessionThatHasAskedForIt) {
  Daemon daemon(json{{"flight", {{"enabled", true}, {"buffer_kb", 1024}}}});
  const fs::path recording = daemon.directory() / "recording";
  daemon.ctl_ok({"record", "-o", recording, "--event", "cpu_sample", "--", "sh", "-c",
                 "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"});
  const Samples samples(recording);
  uint64_t with = 0, found = 0;
  samples.for_each([&](const Sample& sample) {
    for (const uint64_t number : {sample.stacks.kernel, sample.stacks.user}) {
      with += number != 0 ? 1 : 0;
      found += samples.stacks.find(number) != nullptr ? 1 : 0;
    }
  });
  EXPECT_GT(with, 3U);
  EXPECT_EQ(found, with);
  const json manifest = manifest_of(recording);
  EXPECT_TRUE(manifest["complete"]) << manifest["incomplete_because"];
  const Samples none(snapshot_of(daemon, "none"));
  EXPECT_TRUE(none.cpus.empty()) << "the recorder has none";
  EXPECT_TRUE(
      eventually([&] { return !daemon.call("status")["sampling"]["enabled"].get<bool>(); }));
}

TEST(CpuSample, HasThePeriodOfAReload) {
  Daemon daemon(sampling_of_this_process());
  spend(50'000'000);
  daemon.write_config(for_processes(
      {::getpid()}, sampling_config({{"sampling", {{"period", "2ms"}, {"user", false}}}})));
  daemon.call("reload");
  EXPECT_EQ(daemon.call("status")["sampling"]["period"], "2ms");
  snapshot_of(daemon, "before");
  spend(200'000'000);
  const fs::path trace = snapshot_of(daemon, "after");
  const Samples samples(trace);
  EXPECT_GT(samples.count([](const Sample&) { return true; }), 10U);
  EXPECT_EQ(samples.count([](const Sample& sample) { return sample.stacks.user != 0; }), 0U);
  EXPECT_EQ(manifest_of(trace)["config"]["sampling"]["period"], "2ms");
}

}  // namespace
}  // namespace ktraced::live
