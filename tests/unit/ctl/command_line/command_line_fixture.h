// SPDX-License-Identifier: BSD-2-Clause
// Parses command lines of ktracectl.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "ctl/command_line/command_line.h"

namespace ktraced::command_line_test {

inline auto parse(std::vector<const char*> words) {
  words.insert(words.begin(), "ktracectl");
  return parse_command_line(static_cast<int>(words.size()), words.data());
}

template <class Command>
Command command(const std::vector<const char*>& words) {
  auto parsed = parse(words);
  if (const auto* nothing = std::get_if<NothingToRun>(&parsed)) {
    ADD_FAILURE() << nothing->err;
    return {};
  }
  auto& options = std::get<Options>(parsed);
  EXPECT_TRUE(std::holds_alternative<Command>(options.command));
  return std::get<Command>(options.command);
}

inline std::string usage_error(const std::vector<const char*>& words) {
  auto parsed = parse(words);
  const auto* nothing = std::get_if<NothingToRun>(&parsed);
  EXPECT_NE(nothing, nullptr);
  if (nothing == nullptr) return "";
  EXPECT_EQ(nothing->exit_code, 64);
  EXPECT_EQ(nothing->out, "");
  return nothing->err;
}

}  // namespace ktraced::command_line_test
