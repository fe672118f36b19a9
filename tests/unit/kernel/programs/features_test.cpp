// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/programs/features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "unit/kernel/probes/small_btf.h"

namespace ktraced {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::UnorderedElementsAre;

Schema schema_of(const std::vector<std::string>& names) {
  Schema schema;
  for (const std::string& name : names)
    schema.add({.id = static_cast<uint16_t>(schema.events().size() + 1), .name = name});
  return schema;
}

Schema all_events() {
  return schema_of({"sched_switch", "sched_process_exit", "kmalloc", "kfree", "kmem_cache_alloc",
                    "kmem_cache_free", "mark_victim", "sys_enter"});
}

// Types common to all kernels.
SmallBtf common() {
  SmallBtf btf;
  btf.tracepoint("kfree", {"ulong", "void*"}).tracepoint("sys_enter", {"pt_regs*", "ulong"});
  return btf;
}

SmallBtf kernel_5_10() {
  SmallBtf btf = common();
  btf.tracepoint("sched_switch", {"bool", "task_struct*", "task_struct*"})
      .tracepoint("sched_process_exit", {"task_struct*"})
      .tracepoint("kmalloc", {"ulong", "void*", "ulong", "ulong", "gfp_t"})
      .tracepoint("kmalloc_node", {"ulong", "void*", "ulong", "ulong", "gfp_t", "int"})
      .tracepoint("kmem_cache_alloc", {"ulong", "void*", "ulong", "ulong", "gfp_t"})
      .tracepoint("kmem_cache_free", {"ulong", "void*"})
      .tracepoint("mark_victim", {"int"});
  return btf;
}

SmallBtf kernel_5_15() {
  SmallBtf btf = common();
  btf.tracepoint("sched_switch", {"bool", "task_struct*", "task_struct*"})
      .tracepoint("sched_process_exit", {"task_struct*"})
      .tracepoint("kmalloc", {"ulong", "void*", "ulong", "ulong", "gfp_t"})
      .tracepoint("kmem_cache_alloc", {"ulong", "void*", "ulong", "ulong", "gfp_t"})
      .tracepoint("kmem_cache_free", {"ulong", "void*", "char*"})
      .tracepoint("mark_victim", {"int"});
  return btf;
}

SmallBtf kernel_5_18() {
  SmallBtf btf = common();
  btf.tracepoint("sched_switch", {"bool", "task_struct*", "task_struct*", "gfp_t"})
      .tracepoint("sched_process_exit", {"task_struct*"})
      .tracepoint("kmalloc", {"ulong", "void*", "ulong", "ulong", "gfp_t"})
      .tracepoint("kmem_cache_alloc", {"ulong", "void*", "ulong", "ulong", "gfp_t"})
      .tracepoint("kmem_cache_free", {"ulong", "void*", "char*"})
      .tracepoint("mark_victim", {"int"});
  return btf;
}

SmallBtf kernel_6_0() {
  SmallBtf btf = common();
  btf.tracepoint("sched_switch", {"bool", "task_struct*", "task_struct*", "gfp_t"})
      .tracepoint("sched_process_exit", {"task_struct*"})
      .tracepoint("kmalloc", {"ulong", "void*", "kmem_cache*", "ulong", "ulong", "gfp_t"})
      .tracepoint("kmem_cache_alloc", {"ulong", "void*", "kmem_cache*", "ulong", "ulong", "gfp_t"})
      .tracepoint("kmem_cache_free", {"ulong", "void*", "char*"})
      .tracepoint("mark_victim", {"int"});
  return btf;
}

SmallBtf kernel_6_1() {
  SmallBtf btf = common();
  btf.tracepoint("sched_switch", {"bool", "task_struct*", "task_struct*", "gfp_t"})
      .tracepoint("sched_process_exit", {"task_struct*"})
      .tracepoint("kmalloc", {"ulong", "void*", "ulong", "ulong", "gfp_t", "int"})
      .tracepoint("kmem_cache_alloc", {"ulong", "void*", "kmem_cache*", "gfp_t", "int"})
      .tracepoint("kmem_cache_free", {"ulong", "void*", "kmem_cache*"})
      .tracepoint("mark_victim", {"int"});
  return btf;
}

SmallBtf kernel_6_18() {
  SmallBtf btf = common();
  btf.tracepoint("sched_switch", {"bool", "task_struct*", "task_struct*", "gfp_t"})
      .tracepoint("sched_process_exit", {"task_struct*", "bool"})
      .tracepoint("kmalloc", {"ulong", "void*", "ulong", "ulong", "gfp_t", "int"})
      .tracepoint("kmem_cache_alloc", {"ulong", "void*", "kmem_cache*", "gfp_t", "int"})
      .tracepoint("kmem_cache_free", {"ulong", "void*", "kmem_cache*"})
      .tracepoint("mark_victim", {"task_struct*", "gfp_t"})
      .function("bpf_rdonly_cast");
  return btf;
}

struct KernelCase {
  const char* name;
  SmallBtf (*btf)();
  features expected;
};

class Kernels : public ::testing::TestWithParam<KernelCase> {};

TEST_P(Kernels, AreDistinguishedByTheirPrototypes) {
  SmallBtf btf = GetParam().btf();
  KernelFeatures found = features_from_btf(btf.get(), all_events());
  EXPECT_THAT(found.unavailable, IsEmpty());
  const features& expected = GetParam().expected;
  EXPECT_EQ(found.flags.rdonly_cast, expected.rdonly_cast);
  EXPECT_EQ(found.flags.task_state_is_arg, expected.task_state_is_arg);
  EXPECT_EQ(found.flags.kmalloc_has_node, expected.kmalloc_has_node);
  EXPECT_EQ(found.flags.cache_alloc_is_cache, expected.cache_alloc_is_cache);
  EXPECT_EQ(found.flags.alloc_has_extra_cache, expected.alloc_has_extra_cache);
  EXPECT_EQ(found.flags.cache_free_arg, expected.cache_free_arg);
  EXPECT_EQ(found.flags.victim_is_task, expected.victim_is_task);
  EXPECT_EQ(found.flags.exit_has_group_dead, expected.exit_has_group_dead);
  EXPECT_EQ(found.flags.running_readable, expected.running_readable);
}

INSTANTIATE_TEST_SUITE_P(
    Features, Kernels,
    ::testing::Values(KernelCase{"v5_10", kernel_5_10, {}},
                      KernelCase{"v5_15", kernel_5_15, {.cache_free_arg = CACHE_FREE_NAME}},
                      KernelCase{"v5_18",
                                 kernel_5_18,
                                 {.task_state_is_arg = 1, .cache_free_arg = CACHE_FREE_NAME}},
                      KernelCase{"v6_0",
                                 kernel_6_0,
                                 {.task_state_is_arg = 1,
                                  .alloc_has_extra_cache = 1,
                                  .cache_free_arg = CACHE_FREE_NAME}},
                      KernelCase{"v6_1",
                                 kernel_6_1,
                                 {.task_state_is_arg = 1,
                                  .kmalloc_has_node = 1,
                                  .cache_alloc_is_cache = 1,
                                  .cache_free_arg = CACHE_FREE_CACHE}},
                      KernelCase{"v6_18",
                                 kernel_6_18,
                                 {.rdonly_cast = 1,
                                  .task_state_is_arg = 1,
                                  .kmalloc_has_node = 1,
                                  .cache_alloc_is_cache = 1,
                                  .cache_free_arg = CACHE_FREE_CACHE,
                                  .victim_is_task = 1,
                                  .exit_has_group_dead = 1,
                                  .running_readable = 1}}),
    [](const auto& kernel) { return std::string(kernel.param.name); });

TEST(Features, KnowThatProgramsArePreemptibleByTheGuardOfTracepoints) {
  SmallBtf before = common();
  EXPECT_EQ(features_from_btf(before.get(), all_events()).flags.preemptible, 0);
  SmallBtf after = common();
  btf__add_typedef(after.get(), "class_srcu_fast_notrace_t", 1);
  EXPECT_EQ(features_from_btf(after.get(), all_events()).flags.preemptible, 1);
}

// Its unwinder has a buffer of the CPU, which another task would use meanwhile.
TEST(Features, AllowNoStackOfTheKernelWhereATaskCanAlwaysBePreempted) {
  constexpr const char* kWhat = "stacks of the kernel";
  EXPECT_FALSE(features_from_btf(common().get(), all_events()).unknown.contains(kWhat));
  SmallBtf btf = common();
  btf__add_typedef(btf.get(), "class_srcu_fast_notrace_t", 1);
  const KernelFeatures without = features_from_btf(btf.get(), all_events());
  EXPECT_EQ(without.flags.preemption_kfuncs, 0);
  EXPECT_TRUE(without.unknown.contains(kWhat));
  for (const char* name :
       {"bpf_preempt_disable", "bpf_preempt_enable", "bpf_local_irq_save", "bpf_local_irq_restore"})
    btf.function(name);
  const KernelFeatures with = features_from_btf(btf.get(), all_events());
  EXPECT_EQ(with.flags.preemption_kfuncs, 1);
  EXPECT_FALSE(with.unknown.contains(kWhat));
}

TEST(Features, FindTheCountThatHasTheContext) {
  const auto found = [](SmallBtf btf) {
    return features_from_btf(btf.get(), all_events()).flags.preempt_count;
  };
  EXPECT_EQ(found(common()), PREEMPT_COUNT_UNKNOWN);
  EXPECT_EQ(found(std::move(common().variable("__preempt_count", "int"))), PREEMPT_COUNT_VARIABLE);
  EXPECT_EQ(found(std::move(common().variable("pcpu_hot", "int"))), PREEMPT_COUNT_HOT);
  EXPECT_EQ(
      found(std::move(common().variable("__preempt_count", "int").variable("nmi_nesting", "int"))),
      PREEMPT_COUNT_WIDE);
  EXPECT_EQ(found(std::move(common().variable("__preempt_count", "ulong"))), PREEMPT_COUNT_WIDE);
}

TEST(Features, SayWhichKernelsDoNotShowTheFilesOfUserStacks) {
  SmallBtf before = kernel_6_0();
  EXPECT_THAT(features_from_btf(before.get(), all_events()).unknown,
              UnorderedElementsAre(Key("files of user stacks")));
  SmallBtf since = kernel_6_1();
  btf__add_struct(since.get(), "maple_tree", 16);
  EXPECT_THAT(features_from_btf(since.get(), all_events()).unknown, IsEmpty());
}

TEST(Features, LetCatchersLeaveNotesWhereProgramsArePreemptible) {
  SmallBtf btf = kernel_6_18();
  btf__add_typedef(btf.get(), "class_srcu_fast_notrace_t", 1);
  EXPECT_EQ(features_from_btf(btf.get(), all_events()).flags.running_readable, 0);
}

TEST(Features, ExpectNoTracepointOfSamples) {
  Schema schema;
  schema.add({.id = EVENT_cpu_sample, .name = "cpu_sample"});
  EXPECT_TRUE(features_from_btf(common().get(), schema).unavailable.empty());
}

TEST(Features, ReportMissingTracepoints) {
  SmallBtf btf;
  btf.tracepoint("kfree", {"ulong", "void*"});
  KernelFeatures found = features_from_btf(btf.get(), schema_of({"kfree", "sys_enter"}));
  EXPECT_THAT(found.unavailable, UnorderedElementsAre(Key("sys_enter")));
  EXPECT_EQ(found.unavailable["sys_enter"], "this kernel has no tracepoint sys_enter");
}

TEST(Features, FindTheTracepointOfAnEventWithAnotherName) {
  SmallBtf btf;
  btf.tracepoint("sys_enter", {"pt_regs*", "ulong"});
  KernelFeatures found =
      features_from_btf(btf.get(), schema_of({"sys_enter_string", "sys_exit_string"}));
  EXPECT_THAT(found.unavailable, UnorderedElementsAre(Key("sys_exit_string")));
  EXPECT_EQ(found.unavailable["sys_exit_string"], "this kernel has no tracepoint sys_exit");
}

TEST(Features, RefuseATracepointWithOtherArguments) {
  SmallBtf btf;
  btf.tracepoint("sched_switch", {"bool", "gfp_t", "task_struct*", "task_struct*"});
  KernelFeatures found = features_from_btf(btf.get(), schema_of({"sched_switch"}));
  EXPECT_THAT(found.unavailable["sched_switch"],
              HasSubstr("unknown form (int, int, task_struct*, task_struct*)"));
}

TEST(Features, AcceptArgumentsAppendedByALaterKernel) {
  SmallBtf btf;
  btf.tracepoint("kmem_cache_free", {"ulong", "void*", "kmem_cache*", "int"})
      .tracepoint("kmalloc", {"ulong", "void*", "ulong", "ulong", "gfp_t", "int", "void*"});
  KernelFeatures found = features_from_btf(btf.get(), schema_of({"kmem_cache_free", "kmalloc"}));
  EXPECT_THAT(found.unavailable, IsEmpty());
  EXPECT_EQ(found.flags.cache_free_arg, CACHE_FREE_CACHE);
  EXPECT_EQ(found.flags.kmalloc_has_node, 1);
}

TEST(Features, NameArgumentsByKind) {
  SmallBtf btf = kernel_6_1();
  EXPECT_EQ(tracepoint_arguments(btf.get(), "kmem_cache_alloc"),
            "int, void*, kmem_cache*, int, int");
  EXPECT_EQ(tracepoint_arguments(btf.get(), "no_such"), "");
}

TEST(Release, IsRefusedBelowTheMinimumWithTheVersionFound) {
  for (const char* release : {"5.14.21-generic", "5.10.223", "4.19.0", "3.10.0-1160.el7.x86_64"}) {
    auto result = check_release(release);
    ASSERT_FALSE(result) << release;
    EXPECT_EQ(result.error().code, ExitCode::unavailable);
    EXPECT_THAT(result.error().message, HasSubstr(release));
    EXPECT_THAT(result.error().message, HasSubstr("5.15"));
  }
}

TEST(Release, IsAcceptedFromTheMinimumOn) {
  for (const char* release : {"5.15.0-91-generic", "5.15", "6.1.0-13-amd64", "7.2.13", "10.0.1"})
    EXPECT_TRUE(check_release(release)) << release;
  EXPECT_TRUE(check_release("custom"))
      << "an unknown form of release is accepted: feature probes decide";
}

}  // namespace
}  // namespace ktraced
