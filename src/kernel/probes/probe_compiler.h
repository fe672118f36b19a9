// SPDX-License-Identifier: BSD-2-Clause
// Compiles a probe's definition to the program that fetches its values, and to the layout of its
// record.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "bpf/shared_state.h"
#include "kernel/probes/probe_btf.h"
#include "kernel/probes/probe_definition.h"
#include "schema/schema.h"

namespace ktraced {

// Names of the fields with the address of a hit, as in the kernel.
inline constexpr std::string_view kProbeIp = "__probe_ip";
inline constexpr std::string_view kProbeFunction = "__probe_func";
inline constexpr std::string_view kProbeReturnIp = "__probe_ret_ip";
// The field with the mask of failed fields; only if a read can fail.
inline constexpr std::string_view kFailedFields = "__probe_failed";

// Look-ups that the compiler needs.
struct ProbeWorld {
  // The address of "SYMBOL" or "MODULE:SYMBOL".
  std::function<Result<uint64_t>(const std::string&)> symbol;
  // The probed function, from BTF. Called only if the definition names arguments.
  std::function<Result<BtfFunction>()> function;
};

struct CompiledProbe {
  fetch_program program{};  // without its id, which the caller sets
  Event event;              // named "GROUP:EVENT"; without its id, which the caller sets
};

// Fails with ExitCode::usage, naming the column, for values that cannot be fetched, and with the
// errors of `world`.
[[nodiscard]] Result<CompiledProbe> compile_probe(const ProbeDefinition& probe,
                                                  const ProbeWorld& world);

}  // namespace ktraced
