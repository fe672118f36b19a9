// SPDX-License-Identifier: BSD-2-Clause
// The control groups that exist.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/error.h"

namespace ktraced {

// Visits every control group of the mounted part of the cgroup v2 hierarchy, with its id and its
// path below the root of the hierarchy: "/system.slice". Groups that cannot be read are left out.
// Fails with ExitCode::usage without a mount, and as for_each_line_of().
[[nodiscard]] Result<> for_each_cgroup(
    const std::function<void(uint64_t id, const std::string& path)>& visit);

}  // namespace ktraced
