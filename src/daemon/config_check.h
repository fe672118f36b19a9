// SPDX-License-Identifier: BSD-2-Clause
// `ktraced --check-config`: will this configuration work on this machine?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/config.h"
#include "schema/schema.h"

namespace ktraced {

struct ConfigFindings {
  std::vector<std::string> problems;  // what the configuration asks for and cannot have
  std::vector<std::string> warnings;  // what is left out, or could not be checked
};

// What can be known without loading anything: names of tracepoints, events this kernel has, and
// whether the rings fit into the memory.
[[nodiscard]] ConfigFindings check_config(const Config& config, const Schema& schema);

// Also loads the programs, makes the rings and attaches each event for a moment, without pins,
// directories or a socket: a running daemon is not touched. Does so only if check_config() has
// found no problem. Fails with ExitCode::no_permission.
[[nodiscard]] Result<ConfigFindings> try_config(const Config& config, const Schema& schema);

// Bytes of all rings that the configuration asks for, on so many CPUs.
[[nodiscard]] uint64_t ring_memory(const Config& config, size_t cpus);

// A sentence if they do not fit into `memory` bytes (0: that is not known); `what` is said of
// these: "this machine has".
[[nodiscard]] std::optional<std::string> memory_problem(const Config& config, size_t cpus,
                                                        uint64_t memory, std::string_view what);

// "MemTotal" and the like of the text of /proc/meminfo, in bytes; 0: it is not there.
[[nodiscard]] uint64_t meminfo_bytes(std::string_view meminfo, std::string_view key);

}  // namespace ktraced
