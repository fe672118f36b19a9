// SPDX-License-Identifier: BSD-2-Clause
// What all fuzz targets share. A target is one source that defines check_input().
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace ktraced::fuzz {

// Uses the code under test with any bytes. The sanitizers end the process for an invalid access,
// undefined behaviour or a leak, require() for a broken rule; libFuzzer then keeps the input.
void check_input(std::string_view input);

inline void require(bool holds, std::string_view rule, std::string_view found = {}) {
  if (holds) return;
  std::fprintf(stderr, "broken rule: %.*s\n%.*s\n", static_cast<int>(rule.size()), rule.data(),
               static_cast<int>(found.size()), found.data());
  std::abort();
}

// Between two parts of an input.
inline constexpr std::string_view kSeparator = "\n====\n";

// `count` parts of an input; those that are not there are empty.
inline std::vector<std::string_view> parts_of(std::string_view input, size_t count) {
  std::vector<std::string_view> parts;
  while (parts.size() + 1 < count) {
    const size_t end = input.find(kSeparator);
    parts.push_back(input.substr(0, end));
    input.remove_prefix(end == input.npos ? input.size() : end + kSeparator.size());
  }
  parts.push_back(input);
  return parts;
}

// An error has a message. It may quote the input: what prints it makes it safe for a terminal.
inline void require_message(const Error& error) {
  require(!error.message.empty(), "an error has a message");
}

// An error of this kind.
inline void require_error(const Error& error, ExitCode code) {
  require(error.code == code, "the exit code fits the error", error.message);
  require_message(error);
}

}  // namespace ktraced::fuzz
