// SPDX-License-Identifier: BSD-2-Clause
// The running kernel's description of its own types.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/error.h"

struct btf;
struct btf_type;

namespace ktraced {

struct FreeBtf {
  void operator()(btf* btf) const;
};
using BtfPtr = std::unique_ptr<btf, FreeBtf>;

// Parses /sys/kernel/btf/vmlinux: some ten milliseconds and megabytes, so keep it
// no longer than needed. Fails with ExitCode::unavailable.
[[nodiscard]] Result<BtfPtr> load_kernel_btf();

// A type without typedefs and qualifiers; null if there is none.
[[nodiscard]] const btf_type* bare_type(const btf* btf, uint32_t id);

// The kernel's enumerators by name, without those of modules; empty without BTF.
[[nodiscard]] std::unordered_map<std::string, int64_t> kernel_enumerators();

}  // namespace ktraced
