// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/stacks/stack_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/support/schema.h"

namespace ktraced {
namespace {

using test::built_schema;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::Optional;

TEST(StackPrograms, AreThereForTheseEvents) {
  const auto events = StackPrograms::built_in();
  ASSERT_TRUE(events) << events.error().message;
  EXPECT_THAT(*events,
              IsSupersetOf(std::set<std::string>{
                  "sched_switch", "sched_waking", "sched_wakeup", "sched_wakeup_new",
                  "sched_migrate_task", "kmalloc", "kfree", "kmem_cache_alloc", "kmem_cache_free",
                  "mm_page_alloc", "mm_page_free", "signal_generate", "signal_deliver",
                  "mark_victim", "sys_enter", "sys_exit", "cpu_sample"}));
}

TEST(StackPrograms, AreSupportedWhereAStackSaysSomething) {
  EXPECT_EQ(StackPrograms::why_not("sched_waking"), std::nullopt);
  EXPECT_THAT(StackPrograms::supported(), Not(Contains("sched_wakeup")));
  EXPECT_THAT(StackPrograms::why_not("sched_wakeup"), Optional(HasSubstr("'sched_waking' has")));
  EXPECT_THAT(StackPrograms::why_not("kmaloc"), Optional(HasSubstr("did you mean 'kmalloc'?")));
  EXPECT_THAT(StackPrograms::supported(), Not(Contains(kSampleEvent)));
  EXPECT_THAT(StackPrograms::why_not(kSampleEvent), Optional(HasSubstr("always has stacks")));
  EXPECT_THAT(StackPrograms::why_not("kprobes:open"), Optional(HasSubstr("or a probe: only kf")));
  EXPECT_THAT(StackPrograms::why_not("task_rename"), Optional(HasSubstr("there are kfree, ")));
}

// Their hits are counted in places that no event has.
TEST(StackPrograms, HaveAPlaceOfTheirOwnForEachEvent) {
  std::set<uint16_t> places{CALL_ENTERED, CALL_RETURNED, RECORD_STACK};
  for (const Event& event : built_schema().events()) EXPECT_TRUE(places.insert(event.id).second);
  const auto events = StackPrograms::built_in();
  ASSERT_TRUE(events);
  for (const std::string& name : *events) {
    const Event* event = built_schema().find(name);
    ASSERT_NE(event, nullptr) << name;
    EXPECT_NE(stack_place(event->id), 0) << name;
    EXPECT_TRUE(places.insert(stack_place(event->id)).second) << name;
  }
  for (const uint16_t place : places) EXPECT_LT(place, DYNAMIC_ID_FIRST);
  EXPECT_EQ(stack_place(STACK_EVENTS), 0);
  EXPECT_EQ(stack_place(DYNAMIC_ID_FIRST), 0);
}

// A record with stacks is not longer than any other may be: rings have as much room behind their
// data.
TEST(StackPrograms, WriteNoRecordThatIsTooLong) {
  EXPECT_LE(sizeof(rec_stack) + STACK_DEPTH_MAX * sizeof(uint64_t), size_t{RECORD_MAX});
  const auto events = StackPrograms::built_in();
  ASSERT_TRUE(events);
  for (const std::string& name : *events)
    EXPECT_LE(built_schema().find(name)->size + sizeof(stack_numbers), size_t{RECORD_MAX});
}

// Programs skip frames of their own, which the kernel counts too.
TEST(StackPrograms, HaveAsManyFramesOfTheKernelAsItAllows) {
  EXPECT_EQ(StackPrograms::kernel_depth(120, 127), 120);
  EXPECT_EQ(StackPrograms::kernel_depth(64, 64), 64 - STACK_OWN_FRAMES);
  EXPECT_EQ(StackPrograms::kernel_depth(64, 20), 20 - STACK_OWN_FRAMES);
  EXPECT_EQ(StackPrograms::kernel_depth(1, 20), 1);
  EXPECT_EQ(StackPrograms::kernel_depth(64, 1), 0);
  EXPECT_GE(StackPrograms::max_stack(), 1U);
}

TEST(StackPrograms, TakeLittleMemoryOfACpu) {
  EXPECT_LE(sizeof(stack_cpu), size_t{88} << 10);
  EXPECT_EQ(StackPrograms::memory_needed() % sizeof(stack_cpu), 0U);
  EXPECT_GE(StackPrograms::memory_needed(), sizeof(stack_cpu));
}

}  // namespace
}  // namespace ktraced
