// SPDX-License-Identifier: BSD-2-Clause
// The sections "stream" and "flight" of the configuration: rings, and what is written from them.
#pragma once

#include "daemon/config.h"
#include "daemon/config_node.h"

namespace ktraced {

void read_stream(const ConfigNode& node, Config& config);
void read_flight(const ConfigNode& node, Config& config);

// An absolute path of a directory; reports anything else and gives nothing.
[[nodiscard]] std::optional<std::filesystem::path> read_directory(const ConfigNode& node);

}  // namespace ktraced
