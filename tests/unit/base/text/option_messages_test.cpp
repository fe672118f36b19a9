// SPDX-License-Identifier: BSD-2-Clause
#include "base/text/option_messages.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace ktraced {
namespace {

// A program with the option --config FILE, the flag --check, and the command "set" with NAME.
std::string message_of(const std::vector<const char*>& words) {
  std::string file, name;
  uint32_t number = 0;
  bool check = false;
  CLI::App program("", "program");
  program.add_option("--config", file)->type_name("FILE");
  program.add_option("--number", number);
  program.add_flag("--check", check);
  program.add_subcommand("set")
      ->add_option("NAME", name)
      ->required()
      ->check([](const std::string& text) { return text == "bad" ? "there is no bad" : ""; });
  std::vector<const char*> line = {"program"};
  line.insert(line.end(), words.begin(), words.end());
  try {
    program.parse(static_cast<int>(line.size()), line.data());
  } catch (const CLI::ParseError& error) {
    return option_message(program, error);
  }
  return "no error";
}

TEST(OptionMessages, NameTheMistakeAndASuggestion) {
  EXPECT_EQ(message_of({}), "no error");
  EXPECT_EQ(message_of({"--confg", "x"}), "unknown option '--confg'; did you mean '--config'?");
  EXPECT_EQ(message_of({"--chekc"}), "unknown option '--chekc'; did you mean '--check'?");
  EXPECT_EQ(message_of({"ste"}), "unknown command 'ste'; did you mean 'set'?");
  EXPECT_EQ(message_of({"zzzzzz"}), "unknown command 'zzzzzz'");
  EXPECT_EQ(message_of({"set", "a", "b"}), "unknown argument 'b'");
  EXPECT_EQ(message_of({"set"}), "NAME is missing");
  EXPECT_EQ(message_of({"--config"}), "--config FILE: the value is missing");
  EXPECT_EQ(message_of({"--number", "x"}), "--number: 'x' is not a number");
  EXPECT_EQ(message_of({"--number", "99999999999"}), "--number: '99999999999' is too large");
  EXPECT_EQ(message_of({"--number", "-1"}), "--number: '-1' is below 0");
}

TEST(OptionMessages, SuggestTheOptionThatBeginsSo) {
  EXPECT_EQ(message_of({"--con"}), "unknown option '--con'; did you mean '--config'?");
  EXPECT_EQ(message_of({"--hell"}), "unknown option '--hell'; did you mean '--help'?");
}

TEST(OptionMessages, OmitTheNameOfAnArgument) {
  EXPECT_EQ(message_of({"set", "bad"}), "there is no bad");
}

}  // namespace
}  // namespace ktraced
