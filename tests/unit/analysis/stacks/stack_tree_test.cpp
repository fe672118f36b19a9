// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/stacks/stack_tree.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analysis/stacks/stack_names.h"
#include "unit/support/packets.h"

namespace ktraced {
namespace {

using test::stack_record_of;

constexpr uint64_t kKernel = 0x8000000000000001, kUser = 0x8000000000000002;

// "k:10" for a frame of the kernel, "u:10" for an address of a process and "f:10" for a byte of a
// file; "-" before what is no return address.
std::vector<FrameText> name(const FrameCode& code) {
  const char* minus = code.is_return ? "" : "-";
  switch (code.kind) {
    case FrameCode::Kind::kernel:
      if (code.at == 1) return {{"bpf_prog_0123456789abcdef_sched_switch", "bpf"}};
      if (code.at == 2) return {{"__traceiter_sched_switch", ""}};
      if (code.at == 3) return {{"asm_sysvec_apic_timer_interrupt", ""}};
      return {{fmt::format("{}k:{}", minus, code.at), ""}};
    case FrameCode::Kind::file:
      if (code.at == 0x99) return {{"inlined", "app"}, {"f:99", "app"}};
      if (code.at == 0x77) return {{"start_thread", "libc.so.6"}};
      if (code.at == 0x78) return {{"clone3", "libc.so.6"}};
      return {{fmt::format("{}f:{:x}", minus, code.at),
               code.file == nullptr ? "?" : std::string(code.file->name())}};
    case FrameCode::Kind::vdso:
      return {{"[vdso]", ""}};
    case FrameCode::Kind::anonymous:
      return {{code.jit == nullptr ? "[anonymous]" : code.jit->name, ""}};
    case FrameCode::Kind::nowhere:
      break;
  }
  return {{fmt::format("{}u:{}", minus, code.at), ""}};
}

class StackNamesTest : public ::testing::Test {
 protected:
  void learn(const test::StackSpec& spec) {
    const test::Bytes bytes = stack_record_of(1, spec);
    stacks_.add(RecordView(bytes.data()));
  }
  // The functions, the innermost first.
  std::string functions(const StackPlace& at) {
    std::string out;
    for (const uint32_t frame : names_.texts_of(at, 1000))
      out += (out.empty() ? "" : " ") + names_.text(frame).function;
    return out;
  }

  void map(const test::MappingSpec& spec, uint64_t ts = 1) {
    const test::Bytes bytes = test::mapping_record_of(ts, spec);
    stacks_.add(RecordView(bytes.data()));
  }

  TraceStacks stacks_;
  StackNames names_{stacks_, name};
};

TEST_F(StackNamesTest, HasTheKernelBeforeTheProcessAndNoTracing) {
  learn({.number = kKernel, .frames = {1, 2, 30, 40}});
  learn({.number = kUser, .kind = STACK_USER, .frames = {7, 7, 99}});
  EXPECT_EQ(functions({.pid = 812, .kernel = kKernel, .user = kUser}),
            "k:30 k:40 -u:7 u:7 u:99 [ended early: no frame pointer]");
}

TEST_F(StackNamesTest, LeavesFunctionsOfTracingThatAnotherFunctionHasCalled) {
  learn({.number = kKernel, .frames = {2, 30, 1, 2, 40}});
  EXPECT_EQ(functions({.kernel = kKernel}),
            "k:30 bpf_prog_0123456789abcdef_sched_switch __traceiter_sched_switch k:40");
}

// The time was spent in tracing.
TEST_F(StackNamesTest, HasTheTracingThatASampleWasIn) {
  learn({.number = kKernel, .kind = STACK_SAMPLED, .frames = {1, 2, 30, 40}});
  EXPECT_EQ(functions({.kernel = kKernel}),
            "bpf_prog_0123456789abcdef_sched_switch __traceiter_sched_switch k:30 k:40");
}

TEST_F(StackNamesTest, KnowsWhichFramesOfTheKernelAreReturnAddresses) {
  learn({.number = kKernel, .frames = {30, 3, 40, 50}});
  EXPECT_EQ(functions({.kernel = kKernel}), "k:30 asm_sysvec_apic_timer_interrupt -k:40 k:50");
  learn({.number = kKernel + 16, .kind = STACK_SAMPLED, .frames = {30, 40}});
  EXPECT_EQ(functions({.kernel = kKernel + 16}), "-k:30 k:40");
}

TEST_F(StackNamesTest, SaysWhyAStackEnds) {
  const auto user = [this](stack_end end) {
    const uint64_t number = kUser + static_cast<uint64_t>(end) * 16;
    learn({.number = number, .kind = STACK_USER, .end = end, .frames = {7}});
    return functions({.pid = 1, .user = number});
  };
  EXPECT_EQ(user(STACK_START), "-u:7 [ended early: no frame pointer]")
      << "the code there may have no frame pointer, but 0 in the register";
  EXPECT_EQ(user(STACK_DEPTH), "-u:7 [deeper than recorded]");
  EXPECT_EQ(user(STACK_BROKEN), "-u:7 [ended early: no frame pointer]");
  EXPECT_EQ(user(STACK_UNREADABLE), "-u:7 [ended early: memory not present]");
  EXPECT_EQ(functions({.user = kUser}), "[frames not in the trace]");
  EXPECT_EQ(functions({}), "") << "without a stack there is nothing to say";
}

TEST_F(StackNamesTest, ShowsNoFramesOfANumberThatTwoStacksHave) {
  learn({.number = kKernel, .frames = {30}});
  learn({.number = kKernel, .frames = {40}});
  EXPECT_EQ(functions({.kernel = kKernel}), "[one of several stacks]");
}

constexpr uint64_t kFile = 0x8000000000000011;
constexpr StackPlace kOfProcess{
    .owner = 0, .pid = 812, .program = 1, .start_ns = 1'000'000'000, .kernel = 0, .user = kUser};

TEST_F(StackNamesTest, FindsTheFileOfAFrameByTheByteBeforeAReturnAddress) {
  map({.tgid = 812, .start = 0x1000, .end = 0x2000, .offset = 0, .file = kFile});
  map({.tgid = 812, .start = 0x2000, .end = 0x3000, .offset = 0x5000, .file = kFile + 1});
  map({.tgid = 812, .start = 0x3000, .end = 0x4000, .file = MAPPING_VDSO});
  map({.tgid = 812, .start = 0x4000, .end = 0x5000, .file = MAPPING_ANONYMOUS});
  stacks_.add(MappedFile{.number = kFile, .path = "/usr/bin/app"});
  learn({.number = kUser,
         .kind = STACK_USER,
         .frames = {0x2000, 0x2000, 0x2001, 0x1099, 0x3001, 0x4001, 0x9000}});
  EXPECT_EQ(functions(kOfProcess),
            "-f:5000 f:1000 f:5001 inlined f:99 [vdso] [anonymous] u:36864 [ended early: no frame "
            "pointer]");
  const auto frames = names_.user_frames(kOfProcess, 1000);
  EXPECT_EQ(names_.text(frames[1].text).module, "app") << "the call is in the file before";
  EXPECT_EQ(names_.text(frames[0].text).module, "?") << "the trace does not say which file";
  EXPECT_EQ(frames[1].address, 0x2000U);
  EXPECT_EQ(frames[1].code.byte(), 0xfffU);
}

TEST_F(StackNamesTest, FindsTheFunctionThatTheProcessHasMade) {
  map({.tgid = 812, .start = 0x4000, .end = 0x5000});
  map({.tgid = 813, .start = 0x4000, .end = 0x5000});
  map({.tgid = 812, .start = 0x5000, .end = 0x6000, .offset = 0, .file = kFile});
  const ProcessId process{.tgid = 812, .start_ns = 1'000'000'000};
  const std::vector<JitFunction> functions_made = {
      {.process = process, .address = 0x4100, .size = 0x10, .name = "run"},
      {.process = process, .address = 0x4000, .size = 0x10, .name = "sum"},
      {.process = process, .address = 0x5000, .size = 0x10, .name = "of a file"}};
  stacks_.add(functions_made);
  stacks_.add(functions_made);  // of a second trace
  learn({.number = kUser,
         .kind = STACK_USER,
         .frames = {0x4000, 0x4110, 0x4100, 0x4111, 0x5001, 0x400f}});
  EXPECT_EQ(functions(kOfProcess),
            "sum run [anonymous] [anonymous] f:1 sum [ended early: no frame pointer]");
  StackPlace other = kOfProcess;
  other.pid = 813;
  EXPECT_EQ(functions(other),
            "[anonymous] [anonymous] [anonymous] [anonymous] u:20481 [anonymous] [ended early: no "
            "frame pointer]");
}

TEST_F(StackNamesTest, TakesTheMappingOfTheProcessAndTheTime) {
  map({.tgid = 812, .start = 0x1000, .end = 0x2000, .offset = 0, .file = kFile}, 10);
  map({.tgid = 812, .start = 0x1000, .end = 0x2000, .offset = 0x5000, .file = kFile}, 500);
  learn({.number = kUser, .kind = STACK_USER, .frames = {0x1000}});
  const auto function_at = [this](const StackPlace& at, uint64_t ts) {
    return names_.text(names_.texts_of(at, ts).front()).function;
  };
  EXPECT_EQ(function_at(kOfProcess, 20), "-f:0");
  EXPECT_EQ(function_at(kOfProcess, 600), "-f:5000");
  StackPlace other = kOfProcess;
  other.pid = 4000;
  EXPECT_EQ(function_at(other, 20), "-u:4096");
  other = kOfProcess;
  other.start_ns += 100'000'000;
  EXPECT_EQ(function_at(other, 20), "-u:4096") << "another process with the same id";
}

// Whatever its frame pointer says.
TEST_F(StackNamesTest, AUserStackIsCompleteOnlyIfItEndsWithTheStartOfAThread) {
  map({.tgid = 812, .start = 0x1000, .end = 0x2000, .offset = 0, .file = kFile});
  constexpr uint64_t kStart = 0x1077, kClone = 0x1078, kOther = 0x1001, kNowhere = 0x9077;
  constexpr const char* kEarly = " [ended early: no frame pointer]";
  StackPlace at = kOfProcess;
  const auto functions_of = [&](stack_end end, std::vector<uint64_t> frames) {
    learn({.number = ++at.user, .kind = STACK_USER, .end = end, .frames = std::move(frames)});
    return functions(at);
  };
  for (const stack_end end : {STACK_START, STACK_BROKEN}) {
    EXPECT_EQ(functions_of(end, {kOther, kStart}), "-f:1 start_thread");
    EXPECT_EQ(functions_of(end, {kOther, kClone}), "-f:1 clone3");
    EXPECT_EQ(functions_of(end, {kStart}), "start_thread") << "it is there itself";
    EXPECT_EQ(functions_of(end, {kClone}), std::string("clone3") + kEarly)
        << "the thread that calls it is there too";
    EXPECT_EQ(functions_of(end, {kOther}), std::string("-f:1") + kEarly);
    EXPECT_EQ(functions_of(end, {kStart, kOther}), std::string("start_thread f:1") + kEarly)
        << "only the outermost function says so";
    EXPECT_EQ(functions_of(end, {kStart, kNowhere}), std::string("start_thread u:36983") + kEarly);
    EXPECT_EQ(names_.end_of(stacks_.table().find(at.user), at, 1000), StackEnd::broken);
  }
  EXPECT_EQ(functions_of(STACK_DEPTH, {kOther, kStart}),
            "-f:1 start_thread [deeper than recorded]");
  EXPECT_EQ(names_.end_of(stacks_.table().find(at.user), at, 1000), StackEnd::depth);
}

// A process chooses the names of its own code.
TEST_F(StackNamesTest, CodeThatTheProcessHasMadeIsNotTheStartOfAThread) {
  map({.tgid = 812, .start = 0x4000, .end = 0x5000});
  const std::vector<JitFunction> made = {{.process = {.tgid = 812, .start_ns = 1'000'000'000},
                                          .address = 0x4000,
                                          .size = 0x10,
                                          .name = "_start"}};
  stacks_.add(made);
  learn({.number = kUser, .kind = STACK_USER, .frames = {0x4004}});
  EXPECT_EQ(functions(kOfProcess), "_start [ended early: no frame pointer]");
}

TEST(FrameText, KnowsTheFunctionsThatNothingCalls) {
  for (const char* start :
       {"_start", "__libc_start_call_main", "start_thread", "clone3", "__GI___clone3",
        "__libc_start_main@@GLIBC_2.34", "runtime.goexit", "runtime.goexit.abi0"})
    EXPECT_TRUE(is_start_function(start)) << start;
  for (const char* other : {"", "main", "start", "start_thread_pool", "clone_tree"})
    EXPECT_FALSE(is_start_function(other)) << other;
  EXPECT_FALSE(is_start_function("clone3", true));
  EXPECT_TRUE(is_start_function("start_thread", true));
}

TEST(FrameText, HasALabel) {
  EXPECT_EQ(label_of({"schedule", ""}), "schedule");
  EXPECT_EQ(label_of({"ext4_read", "ext4"}), "ext4_read [ext4]");
  EXPECT_EQ(label_of({.function = "next_token",
                      .module = "app",
                      .source = "/src/parser.c",
                      .line = 12,
                      .inlined = true}),
            "next_token (inlined) [app] at parser.c:12");
}

// The tree in the order of its lines: a blank for each level, the frame, its total and itself.
std::string lines_of(const StackTree& tree, size_t most = SIZE_MAX) {
  std::string out;
  for (const uint32_t index : tree.heaviest(&StackWeight::ns, most)) {
    const StackTree::Node& node = tree.nodes()[index];
    out += fmt::format("{}{} {} {}\n", std::string(node.depth, ' '), node.frame, node.total.ns,
                       node.self.ns);
  }
  return out;
}

StackWeight took(uint64_t ns) { return StackWeight::of_time(ns, 100 + ns); }

TEST(StackTree, MergesWhatIsCalledByTheSame) {
  StackTree tree(StackTree::Order::callers_first);
  const uint32_t read[] = {3, 2, 1}, write[] = {4, 2, 1}, itself[] = {2, 1};
  tree.add(100, read, took(5));
  tree.add(100, write, took(7));
  tree.add(100, itself, took(1));
  tree.add(200, read, took(2));
  EXPECT_EQ(lines_of(tree),
            "100 13 0\n"
            " 1 13 0\n"
            "  2 13 1\n"
            "   4 7 7\n"
            "   3 5 5\n"
            "200 2 0\n"
            " 1 2 0\n"
            "  2 2 0\n"
            "   3 2 2\n");
  EXPECT_EQ(tree.total().ns, 15U);
  EXPECT_EQ(tree.total().count, 4U);
  EXPECT_EQ(tree.total().longest_ns, 7U);
  EXPECT_EQ(tree.total().longest_ts, 107U);
  EXPECT_EQ(tree.folded().count, 0U);
}

TEST(StackTree, BeginsWithTheInnermostFunctionIfInverted) {
  StackTree tree(StackTree::Order::inverted);
  const uint32_t read[] = {3, 2, 1}, other[] = {3, 5};
  tree.add(100, read, took(5));
  tree.add(100, other, took(7));
  EXPECT_EQ(lines_of(tree),
            "100 12 0\n"
            " 3 12 0\n"
            "  5 7 7\n"
            "  2 5 0\n"
            "   1 5 5\n");
}

TEST(StackTree, KeepsTheHeaviestNodesWithTheirParents) {
  StackTree tree(StackTree::Order::callers_first);
  const uint32_t deep[] = {3, 2, 1}, light[] = {9};
  tree.add(100, light, took(1));
  tree.add(100, deep, took(5));
  EXPECT_EQ(lines_of(tree, 3), "100 6 0\n 1 5 0\n  2 5 0\n");
}

TEST(StackTree, CountsAFunctionThatCallsItselfOnce) {
  StackTree tree(StackTree::Order::callers_first);
  const uint32_t recursive[] = {2, 2, 1, 2};
  tree.add(100, recursive, took(5));
  ASSERT_EQ(tree.functions().size(), 2U);
  EXPECT_EQ(tree.functions()[0].frame, 2U);
  EXPECT_EQ(tree.functions()[0].self.ns, 5U);
  EXPECT_EQ(tree.functions()[0].total.ns, 5U);
  EXPECT_EQ(tree.functions()[1].frame, 1U);
  EXPECT_EQ(tree.functions()[1].self.ns, 0U);
  EXPECT_EQ(tree.functions()[1].total.ns, 5U);
}

TEST(StackTree, SaysWhatItHasFoldedAway) {
  StackTree tree(StackTree::Order::callers_first, 3);
  const uint32_t first[] = {2, 1}, second[] = {4, 3, 1}, known[] = {2, 1};
  tree.add(100, first, took(5));
  tree.add(100, second, took(7));
  tree.add(100, known, took(1));
  EXPECT_EQ(lines_of(tree), "100 13 0\n 1 13 7\n  2 6 6\n");
  EXPECT_EQ(tree.folded().ns, 7U);
  EXPECT_EQ(tree.folded().count, 1U);
  EXPECT_EQ(tree.total().ns, 13U);
}

}  // namespace
}  // namespace ktraced
