// SPDX-License-Identifier: BSD-2-Clause
// The arguments of `filter set`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace ktraced {

// All keys: "pid", "exclude.pid" and the like.
[[nodiscard]] std::vector<std::string> filter_keys();
[[nodiscard]] bool is_filter_key(std::string_view name);
// The error for an unknown key, with similar ones.
[[nodiscard]] std::string unknown_filter_key(std::string_view name);

// {"pid=812,813", "comm=nginx*", "exclude.uid=0"} as the "filter" of filter.set:
// {"pid":[812,813],"comm":["nginx*"],"exclude":{"uid":[0]}}. If a key occurs twice, the values are
// combined; "pid=" empties the list. Fails with ExitCode::usage.
[[nodiscard]] Result<nlohmann::json> filter_from_args(std::span<const std::string> args);

// A "filter" of filter.show as arguments of filter_from_args(), without the empty lists.
[[nodiscard]] std::vector<std::string> filter_to_args(const nlohmann::json& filter);

}  // namespace ktraced
