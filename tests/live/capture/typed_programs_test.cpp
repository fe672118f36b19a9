// SPDX-License-Identifier: BSD-2-Clause
// Programs with typed arguments, on a machine that forbids that program type.
#include <bpf/libbpf.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "kernel/programs/bpf_loader.h"
#include "kernel/programs/features.h"
#include "schema/schema_from_btf.h"

namespace ktraced::live {
namespace {

// Programs of a TYPED_EVENT of bpf/emit.h.
std::vector<std::string> typed_programs() {
  const auto bytes = bpf_object_bytes();
  const LoadedObject object(bpf_object__open_mem(bytes.data(), bytes.size(), nullptr));
  if (!object) throw std::runtime_error("the built-in BPF object is not valid");
  std::vector<std::string> names;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(
      program, object.get()) if (std::string_view(bpf_program__section_name(program))
                                     .contains("raw_tracepoint/"))
      names.emplace_back(bpf_program__name(program));
  return names;
}

TEST(TypedPrograms, FallBackToUntypedProgramsWhereForbidden) {
  auto schema = schema_from_object(bpf_object_bytes());
  ASSERT_TRUE(schema) << schema.error().message;
  auto features = probe_features(*schema);
  ASSERT_TRUE(features) << features.error().message;
  features->flags.typed_programs = 0;
  auto object = BpfObject::load(*schema, *features, {});
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_FALSE(typed_programs().empty());
  for (const std::string& program : typed_programs()) {
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
