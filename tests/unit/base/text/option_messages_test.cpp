// SPDX-License-Identifier: BSD-2-Clause
#include "base/text/option_messages.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace ktraced {
namespace {

// A program with the option --config FILE, the flag --check, and the command "set" with NAME and
// the option --since TIME.
std::string message_of(const std::vector<const char*>& words) {
  std::string file, name, since, comment;
  uint32_t number = 0;
  bool check = false;
  CLI::App program("", "program");
  program.add_option("--config", file)->type_name("FILE");
  program.add_option("--number", number);
  program.add_flag("--check", check);
  CLI::App* set = program.add_subcommand("set");
  set->add_option("NAME", name)->required()->check([](const std::string& text) {
    return text == "bad" ? "there is no bad" : "";
  });
  set->add_option("--since", since)->type_name("TIME");
  set->add_option("-c,--comment", comment);
  set->fallthrough();
  std::vector<const char*> line = {"program"};
  line.insert(line.end(), words.begin(), words.end());
  try {
    parse_options(program, static_cast<int>(line.size()), line.data());
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

TEST(OptionMessages, SayThatAnEmptyValueIsMissing) {
  EXPECT_EQ(message_of({"--config="}), "--config FILE: the value is missing");
  EXPECT_EQ(message_of({"--config=", "set", "a"}), "--config FILE: the value is missing");
  EXPECT_EQ(message_of({"set", "--since=", "--number", "3", "a"}),
            "--since TIME: the value is missing");
  EXPECT_EQ(message_of({"set", "a", "--number=", "--check"}), "--number: the value is missing");
  EXPECT_EQ(message_of({"set", "--snce=", "a"}),
            "unknown option '--snce'; did you mean '--since'?");
}

TEST(OptionMessages, TakeWhatOnlyLooksLikeAnEmptyValue) {
  EXPECT_EQ(message_of({"set", "--since=a=", "a"}), "no error");
  EXPECT_EQ(message_of({"set", "--comment", "--since=", "a"}), "no error") << "it is the comment";
  EXPECT_EQ(message_of({"set", "-c", "--since=", "a"}), "no error");
  EXPECT_EQ(message_of({"--config", "set", "set", "--since", "1", "a"}), "no error");
  EXPECT_EQ(message_of({"set", "--", "--since="}), "no error") << "it is the name";
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
