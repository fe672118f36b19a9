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

// "pid", "exclude.uid" and the like.
[[nodiscard]] bool is_filter_key(std::string_view name);
// What is wrong with a name that is not: with those that may be meant.
[[nodiscard]] std::string unknown_filter_key(std::string_view name);

// {"pid=812,813", "comm=nginx*", "exclude.uid=0"} as the "filter" of filter.set:
// {"pid":[812,813],"comm":["nginx*"],"exclude":{"uid":[0]}}. A key given twice has
// the values of both; "pid=" empties the list. Fails with ExitCode::usage.
[[nodiscard]] Result<nlohmann::json> filter_from_args(std::span<const std::string> args);

// The way back: a "filter" of filter.show as arguments, without the empty lists.
[[nodiscard]] std::vector<std::string> filter_to_args(const nlohmann::json& filter);

// Who has borrowed the filter, and what it will be again; empty if `on_loan` is null.
[[nodiscard]] std::string loan_text(const nlohmann::json& on_loan);

}  // namespace ktraced
