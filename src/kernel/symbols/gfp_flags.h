// SPDX-License-Identifier: BSD-2-Clause
// Names of allocation flags, which differ between kernels and their configurations.
#pragma once

#include <string>
#include <vector>

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

// The enum constants ___GFP_*_BIT of a kernel's BTF; empty before 6.9.
[[nodiscard]] Constants gfp_bits(const btf* btf);

// The table derived from these bits; empty without them.
[[nodiscard]] std::vector<FlagName> gfp_flags_from_bits(const Constants& bits);

}  // namespace ktraced
