// SPDX-License-Identifier: BSD-2-Clause
// Conditions on fields: --where, --syscall and --error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ctl/selection/selection.h"
#include "schema/schema.h"

namespace ktraced {

// Begins the `option` of a condition that was typed as an expression.
inline constexpr std::string_view kWhereOption = "--where ";

struct FieldCondition {
  std::string option;  // as typed
  std::string expression;
};

// The options that are shorthands of expressions, and those typed.
[[nodiscard]] std::vector<FieldCondition> conditions_of(const SelectionArgs& args);

// Checks the names that --syscall and --error take. Fails with ExitCode::usage for an unknown one.
[[nodiscard]] Result<> check_condition_names(const SelectionArgs& args, const Schema& schema);

}  // namespace ktraced
