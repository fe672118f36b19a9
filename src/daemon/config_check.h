// SPDX-License-Identifier: BSD-2-Clause
// `ktraced --check-config`: tests whether this configuration works on this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/config/config.h"
#include "schema/schema.h"

namespace ktraced {

struct ConfigFindings {
  std::vector<std::string> problems;  // requested by the configuration, but not available
  std::vector<std::string> warnings;  // omitted, or not checkable
};

// Checks everything that does not require loading programs: names of tracepoints, the events of
// this kernel, and whether the rings fit into memory.
[[nodiscard]] ConfigFindings check_config(const Config& config, const Schema& schema);

// Calls check_config(), and if that finds no problem, loads the programs, creates the rings and
// attaches each event briefly. Uses no pins, directories or socket, so a running daemon is not
// affected. Fails with ExitCode::no_permission.
[[nodiscard]] Result<ConfigFindings> try_config(const Config& config, const Schema& schema);

// Bytes of all rings in the configuration, for this number of CPUs.
[[nodiscard]] uint64_t ring_memory(const Config& config, size_t cpus);

// A sentence if the rings do not fit into `memory` bytes (0: unknown). `what` describes the memory:
// "this machine has".
[[nodiscard]] std::optional<std::string> memory_problem(const Config& config, size_t cpus,
                                                        uint64_t memory, std::string_view what);

// A sentence if new rings of the flight recorder do not fit into `memory` bytes (0: unknown).
[[nodiscard]] std::optional<std::string> flight_memory_problem(const FlightConfig& config,
                                                               size_t cpus, uint64_t memory);
// A sentence if new rings of the flight recorder do not fit into what this machine has now, and
// `freed` bytes.
[[nodiscard]] std::optional<std::string> flight_memory_problem(const FlightConfig& config,
                                                               uint64_t freed);

// The value of "MemTotal" or another key in the text of /proc/meminfo, in bytes; 0 if missing.
[[nodiscard]] uint64_t meminfo_bytes(std::string_view meminfo, std::string_view key);

}  // namespace ktraced
