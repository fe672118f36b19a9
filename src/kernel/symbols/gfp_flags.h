// SPDX-License-Identifier: BSD-2-Clause
// Names of allocation flags, which differ between kernels and their configurations.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kernel/tracepoints/c_expression.h"
#include "schema/schema.h"

struct btf;

namespace ktraced {

struct GfpFlags {
  std::vector<FlagName> names;  // in the order in which the kernel applies them
  std::string reason;           // why there are none; empty if there are
};

// The table of the running kernel: from tracefs if it can be read, else from BTF,
// which has the flags since 6.9.
[[nodiscard]] GfpFlags probe_gfp_flags();

// The table of __print_flags(REC->gfp_flags, …) in `format`, the text of events/kmem/kmalloc/format
// in tracefs (gfp_format.cpp). Some kernels from 6.9 on leave names of enum constants in it. Fails
// with ExitCode::data.
[[nodiscard]] Result<std::vector<FlagName>> gfp_flags_from_format(std::string_view format,
                                                                  const Constants& constants);

// The enum constants ___GFP_*_BIT of a kernel's BTF; empty before 6.9.
[[nodiscard]] Constants gfp_bits(const btf* btf);

// The table derived from these bits; empty without them.
[[nodiscard]] std::vector<FlagName> gfp_flags_from_bits(const Constants& bits);

}  // namespace ktraced
