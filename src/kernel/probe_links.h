// SPDX-License-Identifier: BSD-2-Clause
// Sets probes on kernel functions, and tells what the kernel missed of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "kernel/symbol_table.h"

namespace ktraced {

// Why this kernel cannot have probes at all; empty if it can.
[[nodiscard]] std::string why_no_kprobes();

// What came of setting a probe on functions.
struct ProbeLinks {
  std::vector<Fd> links;
  // Functions that cannot be probed, and why.
  std::map<std::string, std::string> skipped;
};

// Sets a kprobe or kretprobe on an address; the program's cookie is that address. Fails with
// ExitCode::unavailable, saying why in words.
[[nodiscard]] Result<Fd> link_kprobe(int program, uint64_t address, bool at_return);

// Sets one on each of `functions`, by kprobe.multi. Fails as above if there is one that cannot be
// probed.
[[nodiscard]] Result<Fd> link_kprobe_multi(int program, const std::vector<uint64_t>& addresses,
                                           bool at_return);

// Hits that the kernel skipped before a program could run, as far as this kernel tells (since
// 6.7): because of nesting, or because more returns were waited for than there was room for.
[[nodiscard]] std::optional<uint64_t> kprobe_misses(const Fd& link);

}  // namespace ktraced
