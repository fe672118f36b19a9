// SPDX-License-Identifier: BSD-2-Clause
// The sections "stream" and "flight" of the configuration: rings and output directories.
#pragma once

#include "daemon/config/config.h"
#include "daemon/config/config_node.h"

namespace ktraced {

void read_stream(const ConfigNode& node, Config& config);
void read_flight(const ConfigNode& node, Config& config);

// An absolute path of a directory. Anything else is reported, and nothing is returned.
[[nodiscard]] std::optional<std::filesystem::path> read_directory(const ConfigNode& node);

}  // namespace ktraced
