// SPDX-License-Identifier: BSD-2-Clause
// Control groups to select that no task of a trace was in.
#pragma once

#include <string>
#include <vector>

#include "trace/metadata/name_table.h"

namespace ktraced {

// A sentence for each of these, with those groups that may be meant: "unknown control group 'ngin';
// did you mean 'nginx.service'?". `names`: of a trace that was opened, with its tables of tasks.
[[nodiscard]] std::vector<std::string> cgroup_notes(const std::vector<std::string>& typed,
                                                    const NameTable& names);

}  // namespace ktraced
