// SPDX-License-Identifier: BSD-2-Clause
// User stacks of 32-bit programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>

#include "harness/client/daemon.h"
#include "harness/machine/process.h"
#include "harness/traces/trace_files.h"
#include "trace/metadata/stack_table.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::SizeIs;

const std::string kCompatTruthProgram = KTRACED_BINARY_DIR "/compat_truth";

// The stacks of its calls, by their numbers.
std::map<uint64_t, Stack> stacks_of_calls(const fs::path& trace) {
  constexpr int32_t kGetpriority = 96;  // of i386
  StackTable table;
  std::map<uint64_t, uint64_t> numbers;
  for_each_record(trace, [&](const RecordView& record) {
    table.add(record);
    if (record.id() != EVENT_sys_enter) return;
    rec_sys_enter event{};
    std::memcpy(&event, record.bytes().data(), sizeof(event));
    if (event.nr == kGetpriority && event.abi == 1) numbers[event.args[1]] = record.stacks().user;
  });
  std::map<uint64_t, Stack> stacks;
  for (const auto& [call, number] : numbers)
    if (const Stack* stack = table.find(number); stack != nullptr) stacks[call] = *stack;
  return stacks;
}

// Frames have words of four bytes there. A frame pointer that is none shows no caller.
TEST(CompatStacks, AreFollowedByFramesOf32Bits) {
  if (::access("/proc/sys/abi/vsyscall32", F_OK) != 0)
    GTEST_SKIP() << "this kernel runs no 32-bit programs";
  Daemon daemon({{"events", {{"syscalls", {"sys_enter"}}}},
                 {"stacks", {{"events", {"sys_enter"}}, {"kernel", false}}},
                 {"flight", {{"enabled", true}, {"buffer_kb", 1024}}},
                 {"filter", {{"comm", {"compat_truth"}}}}});
  const Finished program = run({kCompatTruthProgram});
  ASSERT_EQ(program.exit_code, 0);
  std::array<uint32_t, 5> functions{};
  ASSERT_EQ(program.out.size(), sizeof(functions));
  std::memcpy(functions.data(), program.out.data(), sizeof(functions));

  auto stacks = stacks_of_calls(daemon.call("snapshot.take")["path"].get<std::string>());
  ASSERT_THAT(stacks, SizeIs(3));
  const Stack& whole = stacks[1];
  ASSERT_THAT(whole.frames, SizeIs(functions.size()));
  EXPECT_EQ(whole.end, StackEnd::start);
  constexpr uint64_t kLongest = 512;  // bytes of a function
  for (size_t i = 0; i < functions.size(); ++i) {
    EXPECT_GT(whole.frames[i], functions[i]) << i;
    EXPECT_LT(whole.frames[i], functions[i] + kLongest) << i;
  }
  EXPECT_THAT(stacks[2].frames, SizeIs(1));
  EXPECT_EQ(stacks[2].end, StackEnd::broken);
  EXPECT_THAT(stacks[3].frames, SizeIs(1));
  EXPECT_EQ(stacks[3].end, StackEnd::unreadable);
}

}  // namespace
}  // namespace ktraced::live
