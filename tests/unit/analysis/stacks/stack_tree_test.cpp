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

// "k:10" for a frame of the kernel, "u:10" for one of process 812; "-" before an address that is no
// return address.
std::vector<FrameText> name(const FramePlace& place) {
  if (place.kind == StackKind::kernel) {
    if (place.address == 1) return {{"bpf_prog_0123456789abcdef_sched_switch", "bpf"}};
    if (place.address == 2) return {{"__traceiter_sched_switch", ""}};
    return {{fmt::format("k:{}", place.address), ""}};
  }
  if (place.address == 99) return {{"inlined", "app"}, {"u:99", "app"}};
  return {{fmt::format("{}u:{}", place.is_return ? "" : "-", place.address),
           fmt::format("app of {}", place.pid)}};
}

class StackNamesTest : public ::testing::Test {
 protected:
  void learn(const test::StackSpec& spec) {
    const test::Bytes bytes = stack_record_of(1, spec);
    table_.add(RecordView(bytes.data()));
  }
  // The functions, the innermost first.
  std::string functions(const StackPlace& at) {
    std::string out;
    for (const uint32_t frame : names_.texts_of(at, 1000))
      out += (out.empty() ? "" : " ") + names_.text(frame).function;
    return out;
  }

  StackTable table_;
  StackNames names_{table_, name};
};

TEST_F(StackNamesTest, HasTheKernelBeforeTheProcessAndNoTracing) {
  learn({.number = kKernel, .frames = {1, 2, 30, 40}});
  learn({.number = kUser, .kind = STACK_USER, .frames = {7, 7, 99}});
  EXPECT_EQ(functions({.pid = 812, .kernel = kKernel, .user = kUser}),
            "k:30 k:40 -u:7 u:7 inlined u:99");
}

TEST_F(StackNamesTest, LeavesFunctionsOfTracingThatAnotherFunctionHasCalled) {
  learn({.number = kKernel, .frames = {2, 30, 1, 2, 40}});
  EXPECT_EQ(functions({.kernel = kKernel}),
            "k:30 bpf_prog_0123456789abcdef_sched_switch __traceiter_sched_switch k:40");
}

TEST_F(StackNamesTest, SaysWhyAStackEnds) {
  const auto user = [this](stack_end end) {
    const uint64_t number = kUser + static_cast<uint64_t>(end) * 16;
    learn({.number = number, .kind = STACK_USER, .end = end, .frames = {7}});
    return functions({.pid = 1, .user = number});
  };
  EXPECT_EQ(user(STACK_START), "-u:7");
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

TEST_F(StackNamesTest, NamesTheSameAddressInEachProcessAndProgram) {
  learn({.number = kUser, .kind = STACK_USER, .frames = {7}});
  const auto module_of = [&](uint32_t pid) {
    return names_.text(names_.texts_of({.pid = pid, .user = kUser}, 1).front()).module;
  };
  EXPECT_EQ(module_of(812), "app of 812");
  EXPECT_EQ(module_of(4000), "app of 4000");
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
