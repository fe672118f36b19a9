// SPDX-License-Identifier: BSD-2-Clause
// The "filter" section, which the configuration and the filter commands share.
#pragma once

#include "daemon/config/config_node.h"
#include "kernel/filters/filter_settings.h"

namespace ktraced {

// Replaces the parts of the filter that `node` contains. Problems are reported there.
void read_filter(const ConfigNode& node, FilterSettings& filter);
// Replaces `names` by those in the list `node`, without duplicates. Unknown names are reported
// there.
void read_syscalls(const ConfigNode& node, std::vector<std::string>& names);

}  // namespace ktraced
