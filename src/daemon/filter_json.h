// SPDX-License-Identifier: BSD-2-Clause
// The "filter" section, which the configuration and the filter commands share.
#pragma once

#include "daemon/config_node.h"
#include "kernel/filter_settings.h"

namespace ktraced {

// Replaces what `node` gives of the filter and leaves the rest; problems are reported there.
void read_filter(const ConfigNode& node, FilterSettings& filter);
// Replaces `names` by those of the list `node`, each once; unknown ones are reported there.
void read_syscalls(const ConfigNode& node, std::vector<std::string>& names);

}  // namespace ktraced
