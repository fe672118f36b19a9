// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/programs/kernel_btf.h"

#include <bpf/btf.h>

#include <cerrno>

#include "kernel/programs/libbpf_log.h"

namespace ktraced {
namespace {

constexpr int kChainMax = 64;  // typedefs and qualifiers of one type

}  // namespace

void FreeBtf::operator()(btf* btf) const { btf__free(btf); }

Result<BtfPtr> load_kernel_btf() {
  // Suppresses libbpf's messages; the error below says more.
  const LibbpfLog log_not_printed;
  BtfPtr btf(btf__load_vmlinux_btf());
  if (btf) return btf;
  // libbpf tries a list of places and reports ENOENT or ESRCH when none has it.
  if (errno == ENOENT || errno == ESRCH)
    return fail(ExitCode::unavailable,
                "this kernel has no BTF (/sys/kernel/btf/vmlinux): it needs CONFIG_DEBUG_INFO_BTF");
  return fail(ExitCode::unavailable, "cannot read this kernel's BTF (/sys/kernel/btf/vmlinux): {}",
              errno_text(errno));
}

const btf_type* bare_type(const btf* btf, uint32_t id) {
  const btf_type* type = btf__type_by_id(btf, id);
  for (int i = 0; i < kChainMax; ++i) {
    if (type == nullptr || !(btf_is_mod(type) || btf_is_typedef(type) || btf_is_type_tag(type)))
      return type;
    type = btf__type_by_id(btf, type->type);
  }
  return nullptr;  // they refer to each other
}

std::unordered_map<std::string, int64_t> kernel_enumerators() {
  std::unordered_map<std::string, int64_t> values;
  auto btf = load_kernel_btf();
  if (!btf) return values;
  auto name_at = [&](uint32_t offset) {
    const char* name = btf__name_by_offset(btf->get(), offset);
    return name == nullptr ? "" : name;
  };
  for (uint32_t id = 1; id < btf__type_cnt(btf->get()); ++id) {
    const btf_type* type = btf__type_by_id(btf->get(), id);
    if (btf_is_enum(type))
      for (int i = 0; i < btf_vlen(type); ++i)
        values.emplace(name_at(btf_enum(type)[i].name_off), btf_enum(type)[i].val);
    if (btf_is_enum64(type))
      for (int i = 0; i < btf_vlen(type); ++i)
        values.emplace(name_at(btf_enum64(type)[i].name_off),
                       static_cast<int64_t>(btf_enum64_value(&btf_enum64(type)[i])));
  }
  return values;
}

}  // namespace ktraced
