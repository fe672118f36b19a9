// SPDX-License-Identifier: BSD-2-Clause
// The examples of README.md, run beside a daemon with the default configuration.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "harness/client/daemon.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;

// A command and the lines that README shows below it.
struct Example {
  std::string command;
  std::vector<std::string> output;
};

std::vector<Example> examples_in(const std::string& section) {
  std::ifstream file(KTRACED_SOURCE_DIR "/README.md");
  std::vector<Example> examples;
  bool in_section = false, in_block = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) in_section = line == "## " + section;
    if (!in_section) continue;
    if (line.starts_with("```"))
      in_block = !in_block;
    else if (in_block && line.starts_with("$ "))
      examples.push_back({.command = line.substr(2), .output = {}});
    else if (in_block && !examples.empty())
      examples.back().output.push_back(line);
  }
  return examples;
}

// As installed, but in the directories of the test.
json default_config() {
  std::ifstream file(KTRACED_SOURCE_DIR "/configs/ktraced.json");
  json config = json::parse(file, nullptr, true, true);
  config.erase("bpffs");
  config["flight"].erase("directory");
  return config;
}

// Not of the command, or not always there: comments, losses, and what README leaves out.
bool is_left_out(const std::string& line) {
  return line.empty() || line.starts_with("#") || line.starts_with("…") || line.contains("LOST") ||
         line.contains("\"lost\"");
}

// "ts cpu … args.nr args.ret". Without names of other tasks, which may be unknown.
std::string json_keys(const json& object, const std::string& prefix = "") {
  std::string keys;
  for (const auto& [key, value] : object.items())
    if (!key.ends_with("_comm"))
      keys += value.is_object() ? json_keys(value, key + ".") : prefix + key + " ";
  return keys;
}

bool is_event_line(const std::string& line) {
  static const std::regex kEvent(R"(^ *\S+-\d+ +\[\d+\] \S+ +\d+\.\d+: .*)");
  return line.starts_with('{') || std::regex_match(line, kEvent);
}

// What a line has in common with that of another run: of JSON its keys, of the text of an event
// what is neither a number nor the value of a field, of a table's heading its words.
std::string form_of(const std::string& line) {
  if (line.starts_with('{')) return json_keys(json::parse(line));
  std::string form = line;
  if (is_event_line(line)) {
    form = std::regex_replace(form, std::regex(R"(^.*?\d: )"), "");
    form = std::regex_replace(form, std::regex(R"( argv=.*)"), " argv=");
    form = std::regex_replace(form, std::regex(R"(=\S*)"), "=");
    form = std::regex_replace(form, std::regex(R"(-?\b[0-9a-f]+\b)"), "N");
  }
  form = std::regex_replace(form, std::regex(R"(^\S*/([^/ ]+: )[0-9,]+ records, .*)"), "$1records");
  return std::regex_replace(form, std::regex(" +"), " ");
}

std::vector<std::string> forms_of(const std::vector<std::string>& lines) {
  std::vector<std::string> forms;
  for (const std::string& line : lines)
    if (!is_left_out(line)) forms.push_back(form_of(line));
  return forms;
}

std::vector<std::string> output_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Events have only the forms that README shows. Of other output the first line is there; of a table
// this is its heading, and a row follows.
void expect_form(const Example& example, const std::string& out) {
  const std::vector<std::string> expected = forms_of(example.output),
                                 actual = forms_of(output_lines(out));
  if (expected.empty()) return;
  ASSERT_FALSE(actual.empty());
  const auto first = std::ranges::find_if_not(example.output, is_left_out);
  if (is_event_line(*first)) {
    for (const std::string& form : actual) EXPECT_THAT(expected, Contains(form));
    return;
  }
  const auto heading = std::ranges::find(actual, expected.front());
  ASSERT_NE(heading, actual.end()) << "no line '" << expected.front() << "'";
  EXPECT_TRUE(expected.size() == 1 || std::next(heading) != actual.end()) << "the table is empty";
}

TEST(Readme, ExamplesWorkAsPrintedWithTheDefaultConfiguration) {
  const std::vector<Example> examples = examples_in("One minute of examples");
  ASSERT_GE(examples.size(), 8U);
  Daemon daemon(default_config());
  TempDir directory;
  // What the examples stream.
  const Process cats({"sh", "-c", "while :; do cat /nonexistent/file; sleep 0.1; done"});
  for (const Example& example : examples) {
    SCOPED_TRACE(example.command);
    const Finished finished =
        run({"env", "KTRACED_SOCKET=" + daemon.socket(),
             fmt::format("PATH={}:{}", fs::path(kClientProgram).parent_path().string(),
                         std::getenv("PATH")),
             "sh", "-c", fmt::format("cd {} && {}", directory.path().string(), example.command)});
    if (finished.err.contains("built without the HTML report")) continue;
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_THAT(finished.err, Not(HasSubstr("not traced: ")));
    EXPECT_THAT(finished.err, Not(HasSubstr("no event is selected")));
    expect_form(example, finished.out);
  }
}

}  // namespace
}  // namespace ktraced::live
