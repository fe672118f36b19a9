// SPDX-License-Identifier: BSD-2-Clause
// BTF as the compiler writes it into the BPF object. A schema that is accepted is one that the
// readers of a trace accept, or refuse for its names, which only they check; functions are found or
// refused, and chains of members end.
#include <bpf/btf.h>

#include <nlohmann/json.hpp>

#include "fuzz/fuzz.h"
#include "kernel/probes/probe_btf.h"
#include "kernel/programs/kernel_btf.h"
#include "kernel/programs/libbpf_log.h"
#include "schema/schema_from_btf.h"
#include "schema/schema_json.h"

namespace ktraced::fuzz {
namespace {

void check_schema(const btf* types) {
  const auto schema = schema_from_btf(types);
  if (!schema) return require_error(schema.error(), ExitCode::software);
  if (const auto again = schema_from_json(schema_to_json(*schema)); !again)
    require_message(again.error());
}

void check_functions(const btf* types) {
  const std::vector<MemberStep> steps = {{.arrow = true, .name = "h"},
                                         {.arrow = false, .name = "ts"}};
  const uint32_t count = std::min<uint32_t>(btf__type_cnt(types), 200);
  for (uint32_t id = 1; id < count; ++id) {
    const btf_type* type = btf__type_by_id(types, id);
    if (type == nullptr || !btf_is_func(type)) continue;
    const char* name = btf__name_by_offset(types, type->name_off);
    if (name == nullptr) continue;
    const auto function = BtfFunction::find(types, name);
    if (!function) {
      require_message(function.error());
      continue;
    }
    for (const BtfArgument& argument : function->arguments())
      if (const auto value = function->follow(argument.type, steps); !value)
        require_error(value.error(), ExitCode::usage);
  }
}

}  // namespace

void check_input(std::string_view input) {
  const LibbpfLog log_not_printed;
  const BtfPtr types(btf__new(input.data(), static_cast<uint32_t>(input.size())));
  if (!types) return;
  check_schema(types.get());
  check_functions(types.get());
}

}  // namespace ktraced::fuzz
