// SPDX-License-Identifier: BSD-2-Clause
// Text line by line.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "base/error.h"

namespace ktraced {

// Calls `visit` with each line of `text`, without the newline.
template <class Visit>
void for_each_line(std::string_view text, Visit&& visit) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    visit(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

// Calls `visit` with each line of a file, without the newline. The file may have any length: it is
// never in memory as a whole. Fails as read_file(), or with ExitCode::data at a line of 256 KiB or
// more, possibly after some lines were visited.
Result<> for_each_line_of(const std::filesystem::path& path,
                          const std::function<void(std::string_view)>& visit);

}  // namespace ktraced
