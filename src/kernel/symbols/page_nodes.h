// SPDX-License-Identifier: BSD-2-Clause
// Where programs find the NUMA node of memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/shared_state.h"
#include "kernel/symbols/symbols.h"

struct btf;

namespace ktraced {

struct PageNodes {
  page_nodes layout{};
  std::string reason;  // why the nodes are unknown; empty if they are known
};

// Examines the running kernel. On a machine with several nodes, reads the symbols and runs a small
// program in the kernel. The nodes are known only if a page of each node proves the layout right.
[[nodiscard]] PageNodes probe_page_nodes(const KernelSymbols& symbols);

// The layout by the types of a kernel: `page_struct` and `flags_shift`; nothing if it is not known
// which bits of a page's flags have its node.
[[nodiscard]] std::optional<page_nodes> page_nodes_from_btf(const btf* btf);

// A page frame of a NUMA node.
struct NodeFrame {
  uint32_t node = 0;
  uint64_t frame = 0;
  bool operator==(const NodeFrame&) const = default;
};
// The first page frame of each zone with memory. `zoneinfo`: the text of /proc/zoneinfo.
[[nodiscard]] std::vector<NodeFrame> node_frames(std::string_view zoneinfo);

}  // namespace ktraced
