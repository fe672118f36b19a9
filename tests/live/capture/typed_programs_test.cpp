// SPDX-License-Identifier: BSD-2-Clause
// Programs with typed arguments, on a machine that forbids that program type.
#include <gtest/gtest.h>

#include "kernel/programs/bpf_loader.h"
#include "kernel/programs/features.h"
#include "schema/schema_from_btf.h"

namespace ktraced::live {
namespace {

constexpr auto kTyped = {"sched_switch",       "sched_waking", "sched_wakeup", "sched_wakeup_new",
                         "sched_migrate_task", "sys_enter",    "sys_exit"};

TEST(TypedPrograms, FallBackToUntypedProgramsWhereForbidden) {
  auto schema = schema_from_object(bpf_object_bytes());
  ASSERT_TRUE(schema) << schema.error().message;
  auto features = probe_features(*schema);
  ASSERT_TRUE(features) << features.error().message;
  features->flags.typed_programs = 0;
  auto object = BpfObject::load(*schema, *features, {});
  ASSERT_TRUE(object) << object.error().message;
  for (const char* program : kTyped) {
    if (features->flags.rdonly_cast == 0) {
      EXPECT_TRUE(object->unavailable().contains(program)) << "there is no other way before 6.2";
      continue;
    }
    EXPECT_FALSE(object->unavailable().contains(program)) << object->unavailable().at(program);
    const auto attached = object->attach(program);
    EXPECT_TRUE(attached) << attached.error().message;
  }
}

}  // namespace
}  // namespace ktraced::live
