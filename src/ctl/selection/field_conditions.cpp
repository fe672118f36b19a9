// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/selection/field_conditions.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <utility>

#include "analysis/predicate/named_value.h"
#include "base/text/c_text.h"
#include "base/text/suggest.h"
#include "schema/names.h"

namespace ktraced {
namespace {

constexpr std::string_view kAnyError = "any";

// "error 'enoent'; did you mean 'ENOENT'?"
std::string unknown_error(const std::string& typed, const std::vector<std::string>& names) {
  const std::string_view name = std::string_view(typed).substr(typed.starts_with('-') ? 1 : 0);
  std::string meant;
  int32_t number = 0;
  if (std::from_chars(name.data(), name.data() + name.size(), number).ptr ==
      name.data() + name.size())
    meant = errno_name(number);
  else
    std::ranges::transform(name, std::back_inserter(meant), upper_char);
  if (meant == "ANY" || meant == "ALL") meant = kAnyError;
  if (meant != kAnyError && std::ranges::find(names, meant) == names.end())
    return unknown_name("error", typed, names);
  return fmt::format("unknown error '{}'; did you mean '{}'?", typed, meant);
}

}  // namespace

std::vector<FieldCondition> conditions_of(const SelectionArgs& args) {
  std::vector<FieldCondition> conditions;
  conditions.reserve(args.where.size() + 2);
  for (const std::string& where : args.where)
    conditions.push_back({fmt::format("{}'{}'", kWhereOption, where), where});
  if (!args.syscalls.empty())
    conditions.push_back({fmt::format("--syscall {}", fmt::join(args.syscalls, ",")),
                          fmt::format("nr in ({})", fmt::join(args.syscalls, ", "))});
  // Other events may have one of the fields `ret` and `error`; only those of system calls have
  // both.
  const std::string error = fmt::format("--error {}", fmt::join(args.errors, ","));
  if (std::ranges::find(args.errors, kAnyError) != args.errors.end())
    conditions.push_back({error, "ret < 0 && error > 0"});
  else if (!args.errors.empty())
    conditions.push_back(
        {error, fmt::format("ret < 0 && error in ({})", fmt::join(args.errors, ", "))});
  return conditions;
}

Result<> check_condition_names(const SelectionArgs& args, const Schema& schema) {
  const auto unknown_in = [](const std::vector<std::string>& typed,
                             const std::vector<std::string>& names) {
    return std::ranges::find_if(typed, [&](const std::string& name) {
      return !is_decimal_text(name) && std::ranges::find(names, name) == names.end();
    });
  };
  if (!args.syscalls.empty()) {
    const auto names = value_names(Meaning::syscall_nr, schema);
    if (const auto bad = unknown_in(args.syscalls, names); bad != args.syscalls.end())
      return fail(ExitCode::usage, "{}", unknown_name("system call", *bad, names));
  }
  if (args.errors.empty()) return {};
  auto names = value_names(Meaning::errno_nr, schema);
  names.emplace_back(kAnyError);
  if (const auto bad = unknown_in(args.errors, names); bad != args.errors.end())
    return fail(ExitCode::usage, "{}", unknown_error(*bad, names));
  return {};
}

}  // namespace ktraced
