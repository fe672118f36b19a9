// SPDX-License-Identifier: BSD-2-Clause
// Parts of the "filter" section that other sections use.
#pragma once

#include "bpf/shared_state.h"
#include "daemon/config/config_node.h"

namespace ktraced {

// The most system calls that can be selected.
inline constexpr size_t kSyscallsMax = size_t{SYSCALL_ABIS} * SYSCALL_MAX;

// Replaces `names` by those in the list `node`, without duplicates. Unknown names are reported
// there.
void read_syscalls(const ConfigNode& node, std::vector<std::string>& names);

}  // namespace ktraced
