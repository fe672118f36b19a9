// SPDX-License-Identifier: BSD-2-Clause
#include "trace/metadata/jit_code.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "unit/support/packets.h"

namespace ktraced {
namespace {

rec_mapping mapping(const test::MappingSpec& spec) {
  return mapping_of(RecordView(test::mapping_record_of(1, spec).data())).value();
}

Stack user_stack(std::vector<uint64_t> frames) {
  return {.kind = StackKind::user, .frames = std::move(frames)};
}

TEST(JitCode, IsInFramesOfAnonymousMappings) {
  JitCode code;
  code.add(user_stack({0x1000}));
  code.add(mapping({.start = 0x1000, .end = 0x2000}));
  code.add(mapping({.start = 0x3000, .end = 0x4000, .file = kFileNumberBit | 1}));
  code.add(mapping({.start = 0x5000, .end = 0x6000, .file = MAPPING_VDSO}));
  // The first frame is where the thread is, the others are behind a call.
  code.add(user_stack({0x2000, 0x1001, 0x2000, 0x3001, 0x5001, 0x1001}));
  code.add({.kind = StackKind::kernel, .frames = {0x1500}});
  const auto found = code.mappings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].process, (ProcessId{.tgid = 7, .start_ns = 1'000'000'000}));
  EXPECT_EQ(found[0].start, 0x1000U);
  EXPECT_EQ(found[0].end, 0x2000U);
  EXPECT_EQ(found[0].addresses, (std::vector<uint64_t>{0x1000, 0x1fff}));
}

TEST(JitCode, GrowsWithItsMapping) {
  JitCode code;
  code.add(mapping({.start = 0x1000, .end = 0x2000}));
  code.add(mapping({.start = 0x1000, .end = 0x4000}));
  code.add(mapping({.start = 0x1000, .end = 0x3000}));
  code.add(user_stack({0x3800}));
  ASSERT_EQ(code.mappings().size(), 1U);
  EXPECT_EQ(code.mappings()[0].end, 0x4000U);
}

TEST(JitCode, OfAProcessIsTogether) {
  JitCode code;
  for (const uint64_t start : {0x1000U, 0x2000U, 0x3000U}) {
    code.add(mapping({.tgid = start == 0x2000 ? 8U : 7U, .start = start, .end = start + 0x1000}));
    code.add(user_stack({start}));
  }
  std::vector<uint32_t> processes;
  for (const JitCode::Mapping& each : code.mappings()) processes.push_back(each.process.tgid);
  EXPECT_EQ(processes, (std::vector<uint32_t>{7, 7, 8}));
}

TEST(JitCode, HasLimits) {
  JitCode code;
  for (uint64_t i = 0; i < 2 * JitCode::kMaxMappings; ++i)
    code.add(mapping({.start = i << 20, .end = (i + 1) << 20}));
  for (uint64_t i = 0; i < 2 * JitCode::kMaxAddresses; ++i) code.add(user_stack({i}));
  size_t addresses = 0;
  for (const JitCode::Mapping& each : code.mappings()) addresses += each.addresses.size();
  EXPECT_EQ(addresses, JitCode::kMaxAddresses);
}

// A process can have thousands of children that share its mapping.
TEST(JitCode, HasALimitForTheAddressesOfAllProcesses) {
  JitCode code;
  constexpr uint32_t kProcesses = 100;
  for (uint32_t tgid = 1; tgid <= kProcesses; ++tgid)
    code.add(mapping({.tgid = tgid, .start = 0x1000, .end = 0x1000 + JitCode::kMaxAddresses}));
  for (uint64_t i = 0; i < JitCode::kMaxAddresses / 50; ++i) code.add(user_stack({0x1000 + i}));
  size_t addresses = 0;
  for (const JitCode::Mapping& each : code.mappings()) {
    EXPECT_FALSE(each.addresses.empty());
    addresses += each.addresses.size();
  }
  EXPECT_EQ(addresses, JitCode::kMaxAddresses);
}

TEST(JitFunctions, AreFoundByProcessAndAddress) {
  const ProcessId process{.tgid = 7, .start_ns = 1'000'000'000},
      later{.tgid = 7, .start_ns = 2'000'000'000}, other{.tgid = 8, .start_ns = 1'000'000'000};
  std::vector<JitFunction> functions = {
      {.process = other, .address = 0x1000, .size = 0x100, .name = "other"},
      {.process = process, .address = 0x2000, .size = 0x10, .name = "b"},
      {.process = process, .address = 0x1000, .size = 0x10, .name = "a"},
      {.process = later, .address = 0x1008, .size = 0x10, .name = "later"},
  };
  sort_jit_functions(functions);
  const auto name = [&](const ProcessId& of, uint64_t address) {
    const JitFunction* found = find_jit_function(functions, of, address);
    return found == nullptr ? "" : found->name;
  };
  EXPECT_EQ(name(process, 0x1000), "a");
  EXPECT_EQ(name(process, 0x100f), "a");
  EXPECT_EQ(name(process, 0x1010), "");
  EXPECT_EQ(name(process, 0x2000), "b");
  EXPECT_EQ(name(process, 0xfff), "");
  EXPECT_EQ(name(later, 0x100f), "later");
  EXPECT_EQ(name(other, 0x100f), "other");
  EXPECT_EQ(name({.tgid = 9}, 0x1000), "");
  EXPECT_EQ(find_jit_function({}, process, 0x1000), nullptr);
}

TEST(JitFunctions, OfTheSameAddressAreFoundByTheLastThatHasIt) {
  const ProcessId process{.tgid = 7, .start_ns = 1'000'000'000};
  std::vector<JitFunction> functions = {
      {.process = process, .address = 0x1000, .size = 0x100, .name = "old"},
      {.process = process, .address = 0x1000, .size = 0x10, .name = "new"},
  };
  sort_jit_functions(functions);
  EXPECT_EQ(find_jit_function(functions, process, 0x100f)->name, "new");
  EXPECT_EQ(find_jit_function(functions, process, 0x1010)->name, "old");
}

}  // namespace
}  // namespace ktraced
