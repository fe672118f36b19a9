// SPDX-License-Identifier: BSD-2-Clause
#include "base/text/error_lines.h"

#include <algorithm>

#include "base/text/plain_text.h"

namespace ktraced {

std::vector<std::string> message_lines(const Error& error) {
  if (error.code != ExitCode::config) return {printable(error.message)};
  std::vector<std::string> lines;
  std::string_view rest = error.message;
  for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    lines.push_back(printable(rest.substr(0, end)));
    rest.remove_prefix(end + 1);
  }
  lines.push_back(printable(rest));
  return lines;
}

std::string error_lines(std::string_view program, const Error& error) {
  std::string out;
  for (const std::string& line : message_lines(error))
    out += fmt::format("{}: {}\n", program, line);
  std::string_view rest = error.excerpt;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    out += fmt::format("  {}\n", printable(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

}  // namespace ktraced
