// SPDX-License-Identifier: BSD-2-Clause
// Error messages for command lines, in our own words instead of CLI11's.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace ktraced {

// Parses the command line. Unlike in program.parse(), an option that is written with an empty value
// ("--since=") lacks it, and does not take the next word for it. Throws CLI::ParseError.
void parse_options(CLI::App& program, int argc, const char* const* argv);

// The innermost command that was typed ("record", "filter set"); the program itself if none was.
[[nodiscard]] const CLI::App& command_typed(const CLI::App& program);

// The words that name a command: "filter set"; empty for the program itself.
[[nodiscard]] std::string words_of(const CLI::App& command);

// The first word typed that is neither a command nor an option nor an argument; empty: none.
[[nodiscard]] std::string unexpected_word(const CLI::App& program);

// Why `text` is no whole number from 0 on: "not a number", "below 0" or "too large".
[[nodiscard]] std::string_view why_no_number(std::string_view text);

// One sentence without a full stop: what `error` means for the command line that `program` has
// parsed. For an unknown word it suggests similar ones.
[[nodiscard]] std::string option_message(const CLI::App& program, const CLI::ParseError& error);

}  // namespace ktraced
