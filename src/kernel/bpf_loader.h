// SPDX-License-Identifier: BSD-2-Clause
// From the built-in BPF object to maps and programs in the kernel, by libbpf.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "bpf/shared_state.h"
#include "kernel/bpf_object.h"

struct bpf_object;

namespace ktraced {

struct BpfObjectCloser {
  void operator()(bpf_object* object) const;
};
using LoadedObject = std::unique_ptr<bpf_object, BpfObjectCloser>;

// The verifier's last word on a refused program, from what it or libbpf has logged; empty if there
// is none.
[[nodiscard]] std::string verifier_verdict(const std::string& log);

// The names in the built-in object: its maps, and its programs with their tracepoints.
struct BpfObjectNames {
  std::vector<std::string> maps;
  std::map<std::string, std::string> programs;
};
[[nodiscard]] Result<BpfObjectNames> bpf_object_names();

// Loads all programs but those in `left_out` (program → reason). A program that the
// kernel refuses is added there, and loading is tried again without it. Fails with
// ExitCode::no_permission or ExitCode::unavailable. `prepare` sees the object right before.
[[nodiscard]] Result<LoadedObject> load_bpf_object(
    const features& features, const BpfSizes& sizes, std::map<std::string, std::string>& left_out,
    const std::function<void(bpf_object*)>& prepare = nullptr);

}  // namespace ktraced
