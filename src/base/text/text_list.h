// SPDX-License-Identifier: BSD-2-Clause
// Lists of names, on the command line and in messages.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ktraced {

// The entries of "a,b", also empty ones. "\," is a comma of an entry. Directly before a comma "\\"
// is one backslash; other backslashes are themselves.
[[nodiscard]] std::vector<std::string> list_entries(std::string_view text);
// The entries of list_entries() that are not empty.
[[nodiscard]] std::vector<std::string> split_list(std::string_view text);
// The text of which list_entries() makes these entries: "a,b\,c" of "a" and "b,c".
[[nodiscard]] std::string join_list(const std::vector<std::string>& entries);

// names_or_count() shows longer lists as a count.
inline constexpr size_t kNamesInMessage = 24;
// "a, b, c"; of many names their number: "213 events".
[[nodiscard]] std::string names_or_count(std::span<const std::string> names, std::string_view what);

}  // namespace ktraced
