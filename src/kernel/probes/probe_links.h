// SPDX-License-Identifier: BSD-2-Clause
// Attaches probes to kernel functions, and counts their missed hits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "trace/symbols/symbol_table.h"

namespace ktraced {

// Why this kernel cannot have probes at all; empty if it can.
[[nodiscard]] std::string why_no_kprobes();

// Attaches a kprobe or kretprobe to an address; the program's cookie is that address. Fails with
// ExitCode::unavailable and the reason.
[[nodiscard]] Result<Fd> link_kprobe(int program, uint64_t address, bool at_return);

// Attaches a kprobe or kretprobe to all `addresses` by kprobe.multi; the program's cookie is the
// address. Fails as link_kprobe() if one of them cannot be probed.
[[nodiscard]] Result<Fd> link_kprobe_multi(int program, const std::vector<uint64_t>& addresses,
                                           bool at_return);

// Hits that the kernel missed before a program could run, because of nesting or because maxactive
// was too small. Kernels report it since 6.7.
[[nodiscard]] std::optional<uint64_t> kprobe_misses(const Fd& link);

}  // namespace ktraced
