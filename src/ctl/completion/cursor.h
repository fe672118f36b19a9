// SPDX-License-Identifier: BSD-2-Clause
// Where the cursor of a shell is in a command line that is not complete.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ktraced {

struct Cursor {
  const CLI::App* command = nullptr;  // the innermost one before the cursor
  const CLI::Option* option =
      nullptr;  // whose value is at the cursor, of an argument too; nullptr: none
  std::vector<std::string> arguments;  // of the command, before the cursor
  std::string before;  // what the word at the cursor has before the value: "--event=", "kmalloc,"
  std::string value;   // the rest of that word
  std::string socket;  // the value of --socket, if it is given
  bool may_be_option = true;  // no "--" stands before it
};

// `words`: those after the program's name, the last one up to the cursor. The result refers to
// `program`.
[[nodiscard]] Cursor find_cursor(const CLI::App& program, std::span<const std::string> words);

}  // namespace ktraced
