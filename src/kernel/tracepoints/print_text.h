// SPDX-License-Identifier: BSD-2-Clause
// Extracts information from the "print fmt" of a tracepoint.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ktraced {

// Names of the fields that are printed as symbols ("%pS" of REC->name).
[[nodiscard]] std::vector<std::string> fields_printed_as_symbols(std::string_view print);

// `print` with the names of constants, which some kernels leave in it, replaced by their values.
// `value_of` returns nothing for an unknown name; such a name stays.
[[nodiscard]] std::string with_constants(
    std::string_view print,
    const std::function<std::optional<int64_t>(const std::string& name)>& value_of);

}  // namespace ktraced
