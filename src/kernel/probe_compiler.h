// SPDX-License-Identifier: BSD-2-Clause
// From a probe's definition to the program that fetches its values, and the record they make.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "bpf/fetch.h"
#include "kernel/probe_btf.h"
#include "kernel/probe_definition.h"
#include "schema/schema.h"

namespace ktraced {

// Names of the fields that tell the place of a hit; as in the kernel.
inline constexpr std::string_view kProbeIp = "__probe_ip";
inline constexpr std::string_view kProbeFunction = "__probe_func";
inline constexpr std::string_view kProbeReturnIp = "__probe_ret_ip";
// The field that says which others could not be read; only where one may.
inline constexpr std::string_view kFailedFields = "__probe_failed";

// What a compiler asks others.
struct ProbeWorld {
  // The address of "SYMBOL" or "MODULE:SYMBOL".
  std::function<Result<uint64_t>(const std::string&)> symbol;
  // The function the probe is set on, from BTF. Asked only if the definition names arguments.
  std::function<Result<BtfFunction>()> function;
};

struct CompiledProbe {
  fetch_program program{};  // its id is to be filled in
  Event event;              // its id too; named "GROUP:EVENT"
};

// Fails with ExitCode::usage for what cannot be fetched so, naming the column, and with what
// `world` fails.
[[nodiscard]] Result<CompiledProbe> compile_probe(const ProbeDefinition& probe,
                                                  const ProbeWorld& world);

}  // namespace ktraced
