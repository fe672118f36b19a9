// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <sstream>
#include <string_view>

#include "base/install_paths.h"
#include "base/text/option_messages.h"
#include "ctl/command_line/command_line.h"
#include "ctl/command_line/help.h"
#include "ctl/input/filter_args.h"

namespace ktraced {

namespace {

std::string with_help_hint(const std::string& message, const std::string& command) {
  return fmt::format("ktracectl: {}; see 'ktracectl help{}{}'\n", message,
                     command.empty() ? "" : " ", command);
}

// One line, with a reference to the help.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const std::string command = words_of(command_typed(app));
  const std::string word = unexpected_word(app);
  const std::string key = word.substr(std::min(word.size(), word.find_first_not_of('-')));
  if (command == "filter set" && word.starts_with('-') && is_filter_key(key))
    return with_help_hint(fmt::format("unknown option '{}'; did you mean '{}=VALUE'?", word, key),
                          command);
  return with_help_hint(option_message(app, error), command);
}

NothingToRun help_or_error(const CLI::App& app, const std::vector<std::string>& words) {
  auto help = help_on(app, words);
  if (help) return {0, *help, ""};
  return {static_cast<int>(ExitCode::usage), "", with_help_hint(help.error().message, "")};
}

// `record -o DIR --`, or `-- ''`: nothing to run, which must not record the whole machine.
bool has_empty_command(const Command& command, std::string_view last_word) {
  const auto* record = std::get_if<RecordCommand>(&command);
  if (record == nullptr) return false;
  return record->command.empty() ? last_word == "--" : record->command.front().empty();
}

}  // namespace

std::variant<Options, NothingToRun> parse_command_line(int argc, const char* const* argv) {
  Options options{.socket = std::string(kDefaultSocket)};
  std::vector<std::string> help;
  const auto program = make_program(options, help);
  CLI::App& app = *program;
  try {
    parse_options(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0)
      return NothingToRun{static_cast<int>(ExitCode::usage), "", usage_error(app, error)};
    std::ostringstream out;
    app.exit(error, out, out);
    return NothingToRun{0, out.str(), ""};
  }
  if (app.got_subcommand("help")) return help_or_error(app, help);
  if (has_empty_command(options.command, argv[argc - 1]))
    return NothingToRun{static_cast<int>(ExitCode::usage), "",
                        with_help_hint("record -- needs a command to be run", "record")};
  return options;
}

}  // namespace ktraced
