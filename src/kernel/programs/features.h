// SPDX-License-Identifier: BSD-2-Clause
// Detects the features of the running kernel.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/error.h"
#include "bpf/shared_state.h"
#include "schema/schema.h"

struct btf;

namespace ktraced {

struct KernelFeatures {
  features flags{};                                // for the BPF programs' read-only data
  std::map<std::string, std::string> unavailable;  // event → why this kernel does not support it
  std::map<std::string, std::string> unknown;      // what events lack → why, "NUMA nodes of memory"
};

// Examines the running kernel. Fails with ExitCode::unavailable if it is older than 5.15 or has no
// BTF, or if this process has another clock than its programs.
[[nodiscard]] Result<KernelFeatures> probe_features(const Schema& schema);

// Examines any kernel from its BTF: its tracepoint prototypes and functions. Never uses a version
// number, because stable series carry back-ports.
[[nodiscard]] KernelFeatures features_from_btf(const btf* btf, const Schema& schema);

// May this process load programs for tracepoints? A transient failure counts as yes.
[[nodiscard]] bool may_load_programs();

// Refuses a kernel `release` (as uname -r prints it) below the floor of 5.15, with
// ExitCode::unavailable; the only check of a version.
[[nodiscard]] Result<> check_release(std::string_view release);

// Arguments of a tracepoint in a simplified form, e.g. "int, void*, kmem_cache*, int": integers of
// any size are "int", pointers are named by what they point to. Empty if btf has no typedef
// btf_trace_<name>.
[[nodiscard]] std::string tracepoint_arguments(const btf* btf, std::string_view name);

}  // namespace ktraced
