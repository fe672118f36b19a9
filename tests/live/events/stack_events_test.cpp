// SPDX-License-Identifier: BSD-2-Clause
// Events with their stacks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bpf/shared_state.h"
#include "harness/client/daemon.h"
#include "harness/machine/temp_dir.h"
#include "harness/traces/trace_files.h"
#include "trace/metadata/stack_table.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;

// A function that ends with this has a frame pointer, and its last call does not replace it.
#define keep_frame(result) asm volatile("" : : "r"(result), "r"(__builtin_frame_address(0)))

// Sleeps below `depth` functions with frame pointers, and notes where each of them returns to.
__attribute__((noinline)) long sleep_below(int depth, std::set<uint64_t>& returns) {
  constexpr timespec kShort{.tv_sec = 0, .tv_nsec = 100'000};
  returns.insert(reinterpret_cast<uint64_t>(__builtin_return_address(0)));
  const long result =
      depth == 0 ? ::syscall(SYS_nanosleep, &kShort, nullptr) : sleep_below(depth - 1, returns);
  keep_frame(result);
  return result;
}

// The switches away from threads of this process, and all stacks of a trace.
struct StackedSwitches {
  explicit StackedSwitches(const fs::path& trace) {
    for_each_record(trace, [this](const RecordView& record) {
      stacks.add(record);
      if (record.id() != EVENT_sched_switch) return;
      rec_sched_switch event{};
      std::memcpy(&event, record.bytes().data(), sizeof(event));
      if (event.prev_pid != ::getpid()) return;
      ++(record.has_stacks() ? with : without);
      numbers.push_back(record.stacks());
    });
  }
  StackTable stacks;
  std::vector<stack_numbers> numbers;
  uint64_t with = 0, without = 0;
};

json stack_config(json stacks, json more = json::object()) {
  json config = {{"events", {{"sched", {"sched_switch"}}}},
                 {"stacks", std::move(stacks)},
                 {"flight", {{"enabled", true}, {"buffer_kb", 1024}}}};
  config.update(more);
  return for_processes({::getpid()}, config);
}

fs::path snapshot_of(Daemon& daemon, const std::string& name) {
  return daemon.call("snapshot.take", {{"name", name}})["path"].get<std::string>();
}

TEST(Stacks, OfASwitchShowWhereTheThreadWentToSleep) {
  Daemon daemon(stack_config({{"events", {"sched_switch"}}}));
  std::set<uint64_t> returns;
  for (int i = 0; i < 20; ++i) sleep_below(5, returns);
  const fs::path trace = snapshot_of(daemon, "slept");
  const StackedSwitches switches(trace);
  ASSERT_GE(switches.with, 20U);
  EXPECT_EQ(switches.without, 0U);
  std::ifstream file(trace / "symbols.json");
  const json symbols = json::parse(file)["symbols"];
  uint64_t asleep = 0, scheduled = 0;
  for (const auto& [kernel, user] : switches.numbers) {
    const Stack* const of_process = switches.stacks.find(user);
    const Stack* const of_kernel = switches.stacks.find(kernel);
    ASSERT_NE(of_process, nullptr);
    ASSERT_NE(of_kernel, nullptr);
    EXPECT_EQ(of_process->kind, StackKind::user);
    EXPECT_EQ(of_kernel->kind, StackKind::kernel);
    const std::set<uint64_t> frames(of_process->frames.begin(), of_process->frames.end());
    if (std::ranges::includes(frames, returns)) ++asleep;
    for (const uint64_t frame : of_kernel->frames)
      if (symbols.value(fmt::format("0x{:x}", frame), "").starts_with("schedule+")) {
        ++scheduled;
        break;
      }
  }
  EXPECT_GE(asleep, 20U);
  EXPECT_GE(scheduled, 20U);
  EXPECT_EQ(switches.stacks.ambiguous(), 0U);
  EXPECT_EQ(manifest_of(trace)["format"], 4);
  EXPECT_EQ(manifest_of(trace)["config"]["stacks"], json::array({"sched_switch"}));
}

// The program that takes a stack finds the mappings in a tree that kernels before 6.1 do not have.
bool mappings_are_recorded() {
  utsname kernel{};
  int major = 0, minor = 0;
  return ::uname(&kernel) == 0 && std::sscanf(kernel.release, "%d.%d", &major, &minor) == 2 &&
         std::pair(major, minor) >= std::pair(6, 1);
}

TEST(Stacks, OfASwitchNameTheFunctionsOfTheProcess) {
  if (!mappings_are_recorded()) GTEST_SKIP() << "this kernel records no mappings";
  Daemon daemon(stack_config({{"events", {"sched_switch"}}}));
  std::set<uint64_t> returns;
  for (int i = 0; i < 20; ++i) sleep_below(2, returns);
  const fs::path trace = snapshot_of(daemon, "named");
  const std::string program = fs::read_symlink("/proc/self/exe");
  std::istringstream lines(daemon.ctl_ok({"show", trace, "--stacks", "--format", "json", "--event",
                                          "sched_switch", "--tid", std::to_string(::gettid())}));
  uint64_t in_call = 0, in_program = 0;
  for (std::string line; std::getline(lines, line);) {
    const json event = json::parse(line);
    if (!event.contains("user_frames")) continue;
    const json& frames = event["user_frames"];
    if (frames[0].value("function", "") == "syscall") ++in_call;
    if (std::ranges::any_of(frames,
                            [&](const json& frame) { return frame.value("file", "") == program; }))
      ++in_program;
  }
  EXPECT_GE(in_call, 20U) << "the C library's function, by its build id";
  EXPECT_GE(in_program, 20U);
}

// Calls that are selected are recorded at their functions, those with stacks at the tracepoint.
TEST(Stacks, OfACallShowWhoMakesIt) {
  Daemon daemon(
      for_processes({::getpid()}, {{"events", {{"syscalls", {{"only", {"nanosleep"}}}}}},
                                   {"stacks", {{"events", {"sys_enter"}}, {"kernel", false}}},
                                   {"flight", {{"enabled", true}, {"buffer_kb", 1024}}}}));
  std::set<uint64_t> returns;
  for (int i = 0; i < 20; ++i) sleep_below(4, returns);
  const fs::path trace = snapshot_of(daemon, "called");
  StackTable stacks;
  uint64_t entered = 0, returned = 0, called = 0;
  for_each_record(trace, [&](const RecordView& record) {
    stacks.add(record);
    if (record.tid() != static_cast<uint32_t>(::gettid())) return;
    if (record.id() == EVENT_sys_exit) ++returned;
    if (record.id() != EVENT_sys_enter) return;
    ++entered;
    EXPECT_EQ(record.stacks().kernel, 0U);
    const Stack* const stack = stacks.find(record.stacks().user);
    ASSERT_NE(stack, nullptr);
    const std::set<uint64_t> frames(stack->frames.begin(), stack->frames.end());
    if (std::ranges::includes(frames, returns)) ++called;
  });
  EXPECT_EQ(entered, 20U);
  EXPECT_EQ(returned, 20U);
  EXPECT_EQ(called, 20U);
}

// Makes calls below two functions of its own, and allocates memory in the kernel meanwhile.
template <int Thread>
__attribute__((noinline)) long make_calls(int depth, std::set<uint64_t>& returns) {
  returns.insert(reinterpret_cast<uint64_t>(__builtin_return_address(0)));
  long result = 0;
  if (depth != 0) {
    result = make_calls<Thread>(depth - 1, returns);
    asm volatile("" : : "i"(Thread));  // the compiler would merge equal functions
    keep_frame(result);
    return result;
  }
  for (int i = 0; i < 2000; ++i) {
    result += ::syscall(SYS_getpriority, 0, 0);
    ::close(::open("/proc/self/stat", O_RDONLY));
  }
  keep_frame(result);
  return result;
}

template <int Thread>
std::thread caller_on(int cpu, pid_t& tid, std::set<uint64_t>& returns) {
  return std::thread([cpu, &tid, &returns] {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    ::sched_setaffinity(0, sizeof(cpus), &cpus);
    tid = ::gettid();
    make_calls<Thread>(2, returns);
  });
}

bool is_of_tracing(std::string_view symbol) {
  return std::ranges::any_of(
      std::array{"__traceiter_", "__bpf_trace_", "bpf_trace_run", "bpf_prog_"},
      [symbol](const char* prefix) { return symbol.starts_with(prefix); });
}

// Four threads compete for one CPU. Where programs can be preempted, one of them may be preempted
// while a stack is taken, and another one takes a stack meanwhile. The kernel reports the beginning
// of each call at the same place, so all of these stacks are equal.
TEST(Stacks, HaveNoFrameOfAnotherThread) {
  Daemon daemon(for_processes(
      {::getpid()},
      {{"events", {{"syscalls", {"sys_enter"}}, {"kmem", {"kmalloc", "kmem_cache_alloc"}}}},
       {"stacks", {{"events", {"sys_enter", "kmalloc", "kmem_cache_alloc"}}}},
       {"flight", {{"enabled", true}, {"buffer_kb", 16384}}}}));
  const int cpu = ::sched_getcpu();
  std::array<pid_t, 4> tids{};
  std::array<std::set<uint64_t>, 4> returns;
  std::thread threads[] = {
      caller_on<0>(cpu, tids[0], returns[0]), caller_on<1>(cpu, tids[1], returns[1]),
      caller_on<2>(cpu, tids[2], returns[2]), caller_on<3>(cpu, tids[3], returns[3])};
  for (std::thread& thread : threads) thread.join();
  const fs::path trace = snapshot_of(daemon, "competed");
  std::ifstream file(trace / "symbols.json");
  const json symbols = json::parse(file)["symbols"];
  StackTable stacks;
  for_each_record(trace, [&](const RecordView& record) { stacks.add(record); });
  std::set<std::vector<uint64_t>> of_kernel;
  std::array<uint64_t, 4> calls{};
  for_each_record(trace, [&](const RecordView& record) {
    const auto found = std::ranges::find(tids, static_cast<pid_t>(record.tid()));
    if (!record.has_stacks() || found == tids.end()) return;
    const size_t thread = static_cast<size_t>(found - tids.begin());
    if (const Stack* const user = stacks.find(record.stacks().user)) {
      const std::set<uint64_t> frames(user->frames.begin(), user->frames.end());
      for (size_t other = 0; other < tids.size(); ++other)
        for (const uint64_t address : returns[other])
          EXPECT_FALSE(other != thread && frames.contains(address)) << other << " in " << thread;
    }
    const Stack* const kernel = stacks.find(record.stacks().kernel);
    if (record.id() != EVENT_sys_enter || kernel == nullptr) return;
    ++calls[thread];
    std::vector<uint64_t> frames = kernel->frames;
    std::erase_if(frames, [&](uint64_t frame) {
      return is_of_tracing(symbols.value(fmt::format("0x{:x}", frame), ""));
    });
    of_kernel.insert(std::move(frames));
  });
  for (const uint64_t count : calls) EXPECT_GE(count, 2000U);
  EXPECT_EQ(of_kernel.size(), 1U);
}

TEST(Stacks, AreOfTheSessionThatHasAskedForThem) {
  Daemon daemon(stack_config(json::object()));
  const fs::path recording = daemon.directory() / "recording";
  daemon.ctl_ok({"record", "-o", recording, "--event", "sched_switch", "--stacks", "sched_switch",
                 "--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.01; done"});
  uint64_t with = 0, without = 0, found = 0;
  StackTable stacks;
  for_each_record(recording, [&](const RecordView& record) {
    stacks.add(record);
    if (record.id() != EVENT_sched_switch) return;
    ++(record.has_stacks() ? with : without);
    if (record.has_stacks() && stacks.find(record.stacks().kernel) != nullptr) ++found;
  });
  EXPECT_GE(with, 10U);
  EXPECT_EQ(found, with);
  EXPECT_EQ(without, 0U);
  const json manifest = manifest_of(recording);
  EXPECT_TRUE(manifest["complete"]) << manifest["incomplete_because"];

  const StackedSwitches switches(snapshot_of(daemon, "beside"));
  EXPECT_EQ(switches.with, 0U) << "the recorder has asked for none";
  EXPECT_EQ(manifest_of(daemon.directory() / "recording")["format"], 4);
}

// Of each CPU, the first hit and then each eighth.
TEST(Stacks, OneOfSoManyHitsHasThem) {
  Daemon daemon(stack_config({{"events", {"sched_switch"}}, {"every", {{"sched_switch", 8}}}}));
  std::set<uint64_t> returns;
  for (int i = 0; i < 100; ++i) sleep_below(1, returns);
  const fs::path trace = snapshot_of(daemon, "some");
  std::map<uint32_t, std::pair<uint64_t, uint64_t>> cpus;  // with stacks, and all
  for_each_packet(trace, [&](const PacketView& packet) {
    auto& [with, all] = cpus[packet.header().cpu_id];
    packet.for_each_record([&](const RecordView& record) {
      if (record.id() != EVENT_sched_switch) return;
      ++all;
      if (record.has_stacks()) ++with;
    });
  });
  for (const auto& [cpu, counts] : cpus) EXPECT_EQ(counts.first, (counts.second + 7) / 8) << cpu;
}

// In a ring that has overwritten most of what was in it.
TEST(Stacks, OfTheNewestThreeQuartersOfARingAreInIt) {
  Daemon daemon(stack_config({{"events", {"sched_switch"}}},
                             {{"flight", {{"enabled", true}, {"buffer_kb", 64}}}}));
  std::set<uint64_t> returns;
  const auto overwritten = [&] {
    return daemon.event_status("sched_switch")["overwritten"].get<uint64_t>();
  };
  while (overwritten() < 4000)
    for (int depth = 0; depth < 40; ++depth) sleep_below(depth, returns);
  const fs::path trace = snapshot_of(daemon, "full");
  std::map<uint32_t, std::vector<std::vector<std::byte>>> cpus;
  for_each_packet(trace, [&](const PacketView& packet) {
    packet.for_each_record([&](const RecordView& record) {
      cpus[packet.header().cpu_id].emplace_back(record.bytes().begin(), record.bytes().end());
    });
  });
  uint64_t checked = 0;
  for (const auto& [cpu, records] : cpus) {
    size_t left = 0;
    for (const auto& record : records) left += record.size();
    StackTable stacks;
    for (const auto& bytes : records) {
      const RecordView record(bytes.data());
      stacks.add(record);
      left -= bytes.size();
      if (left > 48 * 1024) continue;
      for (const uint64_t number : {record.stacks().kernel, record.stacks().user}) {
        if (number == 0) continue;
        ++checked;
        EXPECT_NE(stacks.find(number), nullptr) << "CPU " << cpu << ", " << left << " bytes left";
      }
    }
  }
  EXPECT_GT(checked, 100U);
  EXPECT_THAT(manifest_of(trace)["incomplete_because"], IsEmpty());
}

TEST(Stacks, OutliveAKilledDaemon) {
  Daemon daemon(stack_config({{"events", {"sched_switch"}}}));
  std::set<uint64_t> before, meanwhile;
  for (int i = 0; i < 20; ++i) sleep_below(3, before);
  daemon.end(SIGKILL);
  for (int i = 0; i < 20; ++i) sleep_below(7, meanwhile);
  daemon.start();
  const fs::path trace = snapshot_of(daemon, "adopted");
  const StackedSwitches switches(trace);
  EXPECT_GE(switches.with, 40U);
  EXPECT_EQ(switches.without, 0U);
  std::set<uint64_t> frames;
  for (const auto& [kernel, user] : switches.numbers) {
    const Stack* const stack = switches.stacks.find(user);
    ASSERT_NE(stack, nullptr);
    frames.insert(stack->frames.begin(), stack->frames.end());
  }
  EXPECT_THAT(frames, IsSupersetOf(before));
  EXPECT_THAT(frames, IsSupersetOf(meanwhile));
  const json manifest = manifest_of(trace);
  EXPECT_TRUE(manifest["complete"]) << manifest["incomplete_because"];
}

// A limit of the machine while it is alive. The kernel refuses it while any program takes stacks.
class MaxStack {
 public:
  explicit MaxStack(uint32_t frames) {
    std::ifstream(kPath) >> before_;
    if (!eventually([&] { return write(frames); }))
      throw std::runtime_error("another program of this machine takes stacks");
  }
  MaxStack(const MaxStack&) = delete;
  MaxStack& operator=(const MaxStack&) = delete;
  ~MaxStack() {
    static_cast<void>(eventually([&] { return write(before_); }));
  }

 private:
  static constexpr const char* kPath = "/proc/sys/kernel/perf_event_max_stack";
  static bool write(uint32_t frames) {
    std::ofstream file(kPath);
    return static_cast<bool>(file << frames << std::flush);
  }
  uint32_t before_ = 0;
};

// The limit is lowered after the daemon has read its configuration.
TEST(Stacks, OfTheKernelThatTheMachineCutsAreNotComplete) {
  constexpr uint32_t kAllowed = 7;
  const MaxStack limit_until_the_end(kAllowed + STACK_OWN_FRAMES);
  TempDir directory;
  const fs::path recording = directory.path() / "recording";
  {
    std::optional<MaxStack> before(kAllowed + STACK_OWN_FRAMES + 20);
    Daemon daemon(stack_config(json::object()));
    EXPECT_EQ(daemon.call("status")["stacks"]["kernel_depth"], kAllowed + 20);
    before.reset();
    daemon.ctl_ok({"record", "-o", recording, "--event", "sched_switch", "--stacks", "sched_switch",
                   "--", "sleep", "0.01"});
    EXPECT_EQ(daemon.call("status")["stacks"]["kernel_depth"], kAllowed);
    EXPECT_TRUE(
        daemon.logged("stacks of the kernel have at most 7 frames, not 64: "
                      "kernel.perf_event_max_stack is 10"));
  }
  uint64_t cut = 0;
  for_each_record(recording, [&](const RecordView& record) {
    const auto stack = stack_of(record);
    if (!stack || stack->kind != StackKind::kernel) return;
    EXPECT_LE(stack->frames.size(), kAllowed);
    EXPECT_EQ(stack->end, stack->frames.size() == kAllowed ? StackEnd::depth : StackEnd::start);
    cut += stack->end == StackEnd::depth ? 1 : 0;
  });
  EXPECT_GT(cut, 0U) << "a call that sleeps is deeper";
}

TEST(Stacks, EndWithAReloadThatRemovesThem) {
  Daemon daemon(stack_config({{"events", {"sched_switch"}}}));
  std::set<uint64_t> returns;
  for (int i = 0; i < 5; ++i) sleep_below(1, returns);
  EXPECT_EQ(StackedSwitches(snapshot_of(daemon, "with")).without, 0U);
  daemon.write_config(stack_config(json::object()));
  daemon.call("reload");
  uint64_t without = 0;
  for (int i = 0; without == 0; ++i) {
    for (int sleeps = 0; sleeps < 100; ++sleeps) sleep_below(1, returns);
    without = StackedSwitches(snapshot_of(daemon, fmt::format("after-{}", i))).without;
  }
  for (int i = 0; i < 5; ++i) sleep_below(1, returns);
  const StackedSwitches after(snapshot_of(daemon, "without"));
  EXPECT_EQ(after.with, 0U);
  EXPECT_GE(after.without, 5U);
}

TEST(Stacks, AreRefusedInOneSentence) {
  Daemon daemon(stack_config(json::object()));
  const auto refusal = [&](const json& request) {
    return daemon.call_error("stream.subscribe", request)["message"].get<std::string>();
  };
  EXPECT_THAT(refusal({{"events", {"sched_wakeup"}}, {"stacks", {"sched_wakeup"}}}),
              HasSubstr("'sched_waking' has the stack of who wakes it"));
  EXPECT_THAT(refusal({{"events", {"task_rename"}}, {"stacks", {"task_rename"}}}),
              HasSubstr("'task_rename' is no event that can have stacks"));
  EXPECT_THAT(refusal({{"stacks", {"kmalloc"}}}),
              HasSubstr("the session has no event 'kmalloc': select it too"));
  EXPECT_THAT(refusal({{"events", {"irq:softirq_entry"}}, {"stacks", {"irq:softirq_entry"}}}),
              HasSubstr("'irq:softirq_entry' can have no stacks, as a tracepoint or a probe"));
  EXPECT_THAT(refusal({{"events", {"kmalloc"}}, {"stacks", {"kmaloc"}}}),
              HasSubstr("did you mean 'kmalloc'?"));
  EXPECT_EQ(daemon.call("session.list")["sessions"].size(), 1U) << "a session was made";
  EXPECT_FALSE(daemon.call("status")["events"]["kmalloc"]["enabled"].get<bool>());
}

TEST(Stacks, OfAnEventThatTheRecorderLacksAreRefusedToARecording) {
  Daemon daemon(stack_config(json::object()));
  const fs::path recording = daemon.directory() / "recording";
  const Finished refused =
      daemon.ctl({"record", "-o", recording, "--stacks", "kmalloc", "--", "true"});
  EXPECT_EQ(refused.exit_code, 64);
  EXPECT_THAT(refused.err, HasSubstr("the session has no event 'kmalloc': select it too, in "
                                     "\"events\" or with --event"));
  EXPECT_FALSE(fs::exists(recording));
  EXPECT_EQ(daemon.call("session.list")["sessions"].size(), 1U);
}

// The daemon goes on as before.
TEST(Stacks, OfAnEventThatIsNotRecordedEndAReload) {
  Daemon daemon(stack_config({{"events", {"sched_switch"}}}));
  daemon.write_config(stack_config({{"events", {"sched_switch", "kfree"}}, {"depth", 8}}));
  EXPECT_THAT(daemon.call_error("reload")["message"].get<std::string>(),
              HasSubstr("stacks.events[1]: 'kfree' is not recorded: select it in events.kmem"));
  EXPECT_EQ(daemon.call("status")["stacks"]["depth"], 64);
  std::set<uint64_t> returns;
  sleep_below(1, returns);
  EXPECT_GT(StackedSwitches(snapshot_of(daemon, "as-before")).with, 0U);
}

}  // namespace
}  // namespace ktraced::live
