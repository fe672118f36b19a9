// SPDX-License-Identifier: BSD-2-Clause
// Processes by the thousand, each call of which has a stack of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/client/daemon.h"
#include "harness/machine/scale.h"
#include "harness/traces/trace_files.h"
#include "trace/metadata/stack_table.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kCallsOfEach = 100;  // of each process
constexpr size_t kChainLength = 8;

// A frame of code with frame pointers.
struct Frame {
  const Frame* caller;
  uint64_t returns;
};
using Chain = std::array<Frame, kChainLength>;

// Where a function of the stack of this call returns to; nothing is mapped there.
uint64_t return_address(uint64_t call, size_t frame) {
  return (uint64_t{1} << 40) + (call << 8) + 16 * frame;
}

// Calls getpriority(0, call) with this frame pointer.
__attribute__((noinline)) void call_at(const Frame* frame, uint64_t call) {
  uint64_t result = SYS_getpriority;
  asm volatile("mov %%rbp, %%r12\n\tmov %1, %%rbp\n\tsyscall\n\tmov %%r12, %%rbp"
               : "+a"(result)
               : "r"(frame), "D"(uint64_t{0}), "S"(call)
               : "rcx", "r11", "r12", "memory");
}

// Callers are at higher addresses.
__attribute__((noinline)) void call_from_many_places(uint64_t first) {
  Chain chain{};
  for (uint64_t call = first; call < first + kCallsOfEach; ++call) {
    for (size_t i = 0; i < kChainLength; ++i)
      chain[i] = {.caller = i + 1 == kChainLength ? nullptr : &chain[i + 1],
                  .returns = return_address(call, i)};
    call_at(chain.data(), call);
  }
}

// Each of so many processes makes calls, some at the same time.
void storm(uint64_t processes) {
  constexpr size_t kTogether = 8;
  std::deque<pid_t> children;
  const auto wait_until = [&](size_t left) {
    for (; children.size() > left; children.pop_front()) ::waitpid(children.front(), nullptr, 0);
  };
  for (uint64_t i = 0; i < processes; ++i) {
    children.push_back(::fork());
    if (children.back() == 0) {
      call_from_many_places(i * kCallsOfEach);
      ::_exit(0);
    }
    ASSERT_GT(children.back(), 0);
    wait_until(kTogether);
  }
  wait_until(0);
}

// What the kernel counts for the BPF maps of a process, in bytes.
uint64_t map_memory(pid_t pid) {
  std::map<uint64_t, uint64_t> maps;  // by id
  for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/fdinfo", pid))) {
    std::ifstream file(entry.path());
    std::map<std::string, uint64_t> values;
    for (std::string line; std::getline(file, line);) {
      const size_t colon = line.find(':');
      if (const std::string name = line.substr(0, colon); name == "map_id" || name == "memlock")
        values[name] = std::stoull(line.substr(colon + 1));
    }
    if (values.contains("map_id")) maps[values["map_id"]] = values["memlock"];
  }
  uint64_t bytes = 0;
  for (const auto& [id, memory] : maps) bytes += memory;
  return bytes;
}

// The calls of the storm in a trace, and all stacks.
struct Calls {
  explicit Calls(const fs::path& trace) {
    for_each_record(trace, [this](const RecordView& record) {
      stacks.add(record);
      if (record.id() != EVENT_sys_enter) return;
      times.push_back(record.ts());
      rec_sys_enter event{};
      std::memcpy(&event, record.bytes().data(), sizeof(event));
      numbers.emplace(event.args[1], record.stacks().user);
    });
  }
  StackTable stacks;
  std::unordered_map<uint64_t, uint64_t> numbers;  // call → number of its stack
  std::vector<uint64_t> times;
};

bool is_stack_of(const Stack& stack, uint64_t call) {
  if (stack.frames.size() != kChainLength + 1 || stack.end != StackEnd::start) return false;
  for (size_t i = 0; i < kChainLength; ++i)
    if (stack.frames[i + 1] != return_address(call, i)) return false;
  return true;
}

// All calls are in the trace or counted: overwritten, or skipped by the kernel.
void expect_all_counted(const json& manifest, uint64_t calls) {
  uint64_t records = 0, overwritten = 0;
  for (const json& cpu : manifest["cpus"]) {
    if (!cpu["events"].contains("sys_enter")) continue;
    const json& account = cpu["events"]["sys_enter"];
    EXPECT_EQ(account["lost"], 0);
    records += account["records"].get<uint64_t>();
    overwritten += account["overwritten"].get<uint64_t>();
  }
  EXPECT_GT(overwritten, 0U) << "the storm was too small for the rings";
  EXPECT_EQ(records + overwritten + manifest["missed"].value("sys_enter", uint64_t{0}), calls);
}

// With KTRACED_TEST_WHOLE, a million stacks.
TEST(StackStorm, TakesNoMoreMemoryAndLacksNothingThatIsNotCounted) {
  const auto processes = static_cast<uint64_t>(scaled(usual_or_whole(400, 10'000)));
  Daemon daemon({{"events", {{"syscalls", {{"only", {"getpriority"}}}}}},
                 {"stacks", {{"events", {"sys_enter"}}, {"kernel", false}}},
                 {"flight", {{"enabled", true}, {"buffer_kb", 64}}},
                 {"filter", {{"follow", {::getpid()}}}}});
  call_from_many_places(0);
  const json before = daemon.call("status");
  const uint64_t memory = map_memory(daemon.pid());
  ASSERT_GT(memory, 0U);
  daemon.call("snapshot.take", {{"name", "before"}});
  storm(processes);
  EXPECT_LE(map_memory(daemon.pid()), memory + (uint64_t{1} << 20) + 256 * processes);
  const json after = daemon.call("status");
  EXPECT_EQ(after["stacks"]["bytes"], before["stacks"]["bytes"]);
  EXPECT_EQ(after["flight"]["bytes"], before["flight"]["bytes"]);

  const fs::path trace = daemon.call("snapshot.take")["path"].get<std::string>();
  const json manifest = manifest_of(trace);
  expect_all_counted(manifest, processes * kCallsOfEach);
  const Calls calls(trace);
  uint64_t found = 0, lacking = 0, without = 0;
  for (const auto& [call, number] : calls.numbers) {
    const Stack* const stack = calls.stacks.find(number);
    ++(number == 0 ? without : stack == nullptr ? lacking : found);
    if (stack != nullptr) {
      EXPECT_TRUE(is_stack_of(*stack, call)) << call;
    }
  }
  EXPECT_EQ(without, 0U);
  EXPECT_GT(found, 0U);
  EXPECT_LE(lacking, manifest["cpus"].size()) << "each stack is right before its event";
  EXPECT_EQ(calls.stacks.ambiguous(), 0U);

  const json report = json::parse(daemon.ctl_ok({"--json", "report", "summary", trace}));
  const json& account = report["stacks"][0];
  const auto begin = report["window"]["begin_ns"].get<uint64_t>();
  EXPECT_EQ(account["kind"], "user");
  EXPECT_EQ(account["events"],
            std::ranges::count_if(calls.times, [&](uint64_t ts) { return ts >= begin; }));
  EXPECT_LE(account["lacking"], lacking);
  EXPECT_EQ(account["others"], 0);
}

}  // namespace
}  // namespace ktraced::live
