// SPDX-License-Identifier: BSD-2-Clause
#include "base/text/option_messages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/text/suggest.h"

namespace ktraced {
namespace {

// CLI11's default type names: they do not describe the expected value.
constexpr std::array<std::string_view, 5> kPlainTypes = {"", "TEXT", "UINT", "INT", "FLOAT"};

// The least length of the beginning of an option; too many options have a shorter one in common.
constexpr size_t kBeginMin = std::string_view("--x").size();

std::vector<std::string> command_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* sub : command.get_subcommands({})) names.push_back(sub->get_name());
  return names;
}

const CLI::App& program_of(const CLI::App& command) {
  const CLI::App* program = &command;
  while (program->get_parent() != nullptr) program = program->get_parent();
  return *program;
}

// Options of a command, and those of the program, which may follow it.
std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent())
    for (const CLI::Option* option : app->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string unknown_word(const CLI::App& command, const std::string& word) {
  if (word.starts_with('-')) {
    const std::string name = word.substr(0, word.find('='));
    auto names = option_names(command);
    // "--keep" means --keep-history rather than --help.
    const auto begins = [&](const std::string& known) { return known.starts_with(name); };
    if (name.size() > kBeginMin && std::ranges::any_of(names, begins))
      std::erase_if(names, [&](const std::string& known) { return !begins(known); });
    return unknown_name("option", name, names);
  }
  const auto names = command_names(command);
  if (names.empty()) return unknown_name("argument", word, names);
  // "snapshot show NAME": a command of the program itself.
  const CLI::App& program = program_of(command);
  const auto commands = command_names(program);
  if (suggestion(word, names).empty() && std::ranges::find(commands, word) != commands.end())
    return fmt::format("unknown command '{} {}'; did you mean '{} {}'?", words_of(command), word,
                       program.get_name(), word);
  return unknown_name("command", word, names);
}

// "--output FILE"; "DIR" for an argument without dashes.
std::string with_value(const CLI::App& command, const std::string& name) {
  const CLI::Option* option = command.get_option_no_throw(name);
  if (option == nullptr || !name.starts_with('-')) return name;
  const std::string type = option->get_type_name();
  const bool plain = std::ranges::find(kPlainTypes, type) != kPlainTypes.end();
  return plain ? name : fmt::format("{} {}", name, type);
}

std::string missing(const CLI::App& command, std::string_view message) {
  const size_t end = message.rfind(" is required");
  const std::string name(message.substr(0, end));
  if (end != std::string_view::npos && command.get_option_no_throw(name) != nullptr)
    return with_value(command, name) + " is missing";
  const std::string words = words_of(command);
  if (words.empty()) return "a command is missing";
  return fmt::format("{} needs one of {}", words, fmt::join(command_names(command), ", "));
}

// "Could not convert: --pid = abc", "The value abc is not an allowed value for --pid"
std::string not_a_value(std::string_view message) {
  constexpr std::string_view kConvert = "Could not convert: ", kEquals = " = ";
  constexpr std::string_view kValue = "The value ", kOf = " is not an allowed value for ";
  if (message.starts_with(kConvert)) {
    message.remove_prefix(kConvert.size());
    if (const size_t equals = message.find(kEquals); equals != std::string_view::npos)
      return fmt::format("{}: '{}' is {}", message.substr(0, equals),
                         message.substr(equals + kEquals.size()),
                         why_no_number(message.substr(equals + kEquals.size())));
  }
  if (const size_t of = message.find(kOf);
      message.starts_with(kValue) && of != std::string_view::npos)
    return fmt::format("{}: '{}' is not a possible value", message.substr(of + kOf.size()),
                       message.substr(kValue.size(), of - kValue.size()));
  return std::string(message);
}

// "KEY: unknown filter key 'x'": removes the name of an argument without dashes.
std::string without_argument_name(const CLI::App& command, std::string_view message) {
  const size_t colon = message.find(": ");
  if (colon == std::string_view::npos || message.starts_with('-')) return std::string(message);
  const bool is_argument =
      command.get_option_no_throw(std::string(message.substr(0, colon))) != nullptr;
  return std::string(is_argument ? message.substr(colon + 2) : message);
}

// An option of a command or of those around it; null: there is none of this name.
const CLI::Option* option_of(const CLI::App& command, const std::string& name) {
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent())
    if (const CLI::Option* option = app->get_option_no_throw(name); option != nullptr)
      return option;
  return nullptr;
}

bool takes_value(const CLI::Option* option) {
  return option != nullptr && option->get_items_expected_max() > 0;
}

// The index of the first option that takes a value and is written with an empty one: "--since=";
// the number of words if there is none.
size_t empty_value_in(const std::vector<std::string>& words, const CLI::App& program) {
  const CLI::App* command = &program;
  for (size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
    const std::string& word = words[i];
    if (!word.starts_with('-')) {
      const auto subs = command->get_subcommands({});
      const auto sub = std::ranges::find(subs, word, &CLI::App::get_name);
      if (sub != subs.end()) command = *sub;
    } else if (const size_t equals = word.find('='); equals == std::string::npos) {
      if (takes_value(option_of(*command, word))) ++i;
    } else if (equals + 1 == word.size() && word.starts_with("--") &&
               takes_value(option_of(*command, word.substr(0, equals)))) {
      return i;
    }
  }
  return words.size();
}

// "A excludes B", "A requires B"
std::string relation(std::string message, std::string_view verb, std::string_view ours) {
  if (const size_t at = message.find(verb); at != std::string::npos)
    message.replace(at, verb.size(), ours);
  return message;
}

}  // namespace

std::string_view why_no_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::string_view digits = text.substr(negative ? 1 : 0);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
    return "not a number";
  return negative ? "below 0" : "too large";
}

void parse_options(CLI::App& program, int argc, const char* const* argv) {
  std::vector<std::string> words(argv, argv + argc);
  if (const size_t empty = empty_value_in(words, program); empty < words.size()) {
    words.resize(empty + 1);  // CLI11 says that the value is missing behind the last word
    words.back().pop_back();
  }
  std::vector<const char*> begins;
  for (const std::string& word : words) begins.push_back(word.c_str());
  program.parse(static_cast<int>(begins.size()), begins.data());
}

const CLI::App& command_typed(const CLI::App& program) {
  const auto typed = program.get_subcommands();
  return typed.empty() ? program : command_typed(*typed.front());
}

std::string words_of(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  if (parent == nullptr) return {};
  const std::string before = words_of(*parent);
  return before.empty() ? command.get_name() : before + " " + command.get_name();
}

std::string unexpected_word(const CLI::App& program) {
  for (const std::string& extra : program.remaining(true))
    if (extra != "--") return extra;
  return {};
}

std::string option_message(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& command = command_typed(program);
  if (const std::string word = unexpected_word(program); !word.empty())
    return unknown_word(command, word);
  const std::string kind = error.get_name();
  std::string message = error.what();
  if (kind == "RequiredError") return missing(command, message);
  if (kind == "ArgumentMismatch")
    return with_value(command, message.substr(0, message.find(':'))) + ": the value is missing";
  if (kind == "ConversionError") return not_a_value(message);
  if (kind == "ValidationError") return without_argument_name(command, message);
  if (kind == "ExcludesError") return relation(message, " excludes ", " is not possible with ");
  if (kind == "RequiresError") return relation(message, " requires ", " is possible only with ");
  return message;
}

}  // namespace ktraced
