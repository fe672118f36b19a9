// SPDX-License-Identifier: BSD-2-Clause
// Names of system calls and errors in reports.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/text/json_access.h"
#include "ctl/terminal/table.h"
#include "schema/names.h"

namespace ktraced {

// "openat", "open (i386)", or "syscall_1000" for one without a name.
[[nodiscard]] inline std::string syscall_text(uint32_t abi, int32_t nr) {
  const std::string_view name = syscall_name(abi, nr);
  std::string text = name.empty() ? fmt::format("syscall_{}", nr) : std::string(name);
  return abi == 0 ? text : fmt::format("{} ({})", text, syscall_abi_name(abi));
}

// "ENOENT", or the number of an error without a name.
[[nodiscard]] inline std::string error_text(int32_t error) {
  const std::string_view name = errno_name(error);
  return name.empty() ? std::to_string(error) : std::string(name);
}

// {"ENOENT":2}: counts by error.
[[nodiscard]] inline nlohmann::json errors_json(const std::map<int32_t, uint64_t>& errors) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [error, count] : errors) out[error_text(error)] = count;
  return out;
}

// The "syscall" of a row.
[[nodiscard]] inline std::string call_text(const nlohmann::json& row,
                                           const nlohmann::json& /*report*/) {
  return flag_at(row, "others") ? "(others)" : text_at(row, "syscall");
}

// The "errors" of a row: "EACCES 1, ENOENT 2".
[[nodiscard]] inline std::string errors_text(const nlohmann::json& row,
                                             const nlohmann::json& /*report*/) {
  std::string out;
  for (const auto& [error, count] : member(row, "errors").items())
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", error, grouped(count.get<uint64_t>()));
  return out;
}

}  // namespace ktraced
