// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/completion/cursor.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace ktraced {
namespace {

// The option "--event" or "-o" of a command or of one above it.
const CLI::Option* option_named(const CLI::App* command, const std::string& name) {
  for (; command != nullptr; command = command->get_parent())
    if (const auto* option = command->get_option_no_throw(name)) return option;
  return nullptr;
}

bool takes_value(const CLI::Option* option) {
  return option != nullptr && option->get_items_expected_max() != 0;
}

const CLI::App* subcommand_named(const CLI::App& command, const std::string& name) {
  const auto below = command.get_subcommands({});
  const auto found = std::ranges::find(below, name, &CLI::App::get_name);
  return found == below.end() ? nullptr : *found;
}

// The argument that the next word belongs to, after `given` others.
const CLI::Option* argument_at(const CLI::App& command, size_t given) {
  for (const auto* option :
       command.get_options([](const CLI::Option* one) { return one->get_positional(); })) {
    const auto most = static_cast<size_t>(std::max(1, option->get_items_expected_max()));
    if (given < most) return option;
    given -= most;
  }
  return nullptr;
}

// Takes the words before the cursor.
class Walk {
 public:
  explicit Walk(const CLI::App& program) { cursor_.command = &program; }

  void take(const std::string& word) {
    if (const auto* option = std::exchange(waiting_, nullptr)) return set(*option, word);
    if (!cursor_.may_be_option || word.size() < 2 || word[0] != '-') return take_plain(word);
    if (word == "--") {
      cursor_.may_be_option = false;
      return;
    }
    const size_t equals = word.find('=');
    const auto* option = option_named(cursor_.command, word.substr(0, equals));
    if (!takes_value(option)) return;
    if (equals == std::string::npos)
      waiting_ = option;
    else
      set(*option, word.substr(equals + 1));
  }

  Cursor finish(const std::string& word) {
    cursor_.value = word;
    cursor_.option = waiting_;
    const size_t equals = word.find('=');
    if (waiting_ == nullptr && cursor_.may_be_option && word.starts_with("--") &&
        equals != std::string::npos) {
      const auto* option = option_named(cursor_.command, word.substr(0, equals));
      if (takes_value(option)) cursor_.option = option;
      move_before(equals + 1);
    } else if (waiting_ == nullptr && !(cursor_.may_be_option && word.starts_with('-'))) {
      cursor_.option = argument_at(*cursor_.command, cursor_.arguments.size());
    }
    if (cursor_.option != nullptr && cursor_.option->get_type_name().ends_with(",…"))
      move_before(cursor_.value.rfind(',') + 1);
    return cursor_;
  }

 private:
  void take_plain(const std::string& word) {
    const auto* below =
        cursor_.arguments.empty() ? subcommand_named(*cursor_.command, word) : nullptr;
    if (below != nullptr && cursor_.may_be_option)
      cursor_.command = below;
    else
      cursor_.arguments.push_back(word);
  }

  void set(const CLI::Option& option, const std::string& value) {
    if (option.check_lname("socket")) cursor_.socket = value;
  }

  void move_before(size_t length) {
    cursor_.before += cursor_.value.substr(0, length);
    cursor_.value.erase(0, length);
  }

  Cursor cursor_;
  const CLI::Option* waiting_ = nullptr;  // whose value the next word is
};

}  // namespace

Cursor find_cursor(const CLI::App& program, std::span<const std::string> words) {
  Walk walk(program);
  if (words.empty()) return walk.finish("");
  for (const std::string& word : words.first(words.size() - 1)) walk.take(word);
  return walk.finish(words.back());
}

}  // namespace ktraced
