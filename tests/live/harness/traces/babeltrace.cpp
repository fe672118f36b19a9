// SPDX-License-Identifier: BSD-2-Clause
#include "harness/traces/babeltrace.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string_view>

#include "harness/machine/process.h"

namespace ktraced::live {
namespace {

// Returns the end of a value that begins at `at`: the comma or bracket behind it.
size_t end_of_value(std::string_view text, size_t at) {
  int depth = 0;
  bool quoted = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted && c == '\\')
      ++at;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '[' || c == '{'))
      ++depth;
    else if (!quoted && (c == ']' || c == '}') && --depth < 0)
      break;
    else if (!quoted && c == ',' && depth == 0)
      break;
  }
  return at;
}

// "[00000012345] host name: { cpu_id = 1, … }, { …, words = 5, tid = 7 }, { nr = 1, args = [ … ] }"
Printed parse(std::string_view line) {
  Printed event;
  event.ts = std::stoull(std::string(line.substr(1)));
  const size_t colon = line.find(": {");
  const size_t space = line.rfind(' ', colon - 1);
  event.name = line.substr(space + 1, colon - space - 1);
  for (size_t at = colon; (at = line.find(" = ", at)) != std::string_view::npos;) {
    const size_t begin = line.find_last_of(" ", at - 1) + 1;
    const size_t value = at + 3, end = end_of_value(line, value);
    std::string_view text = line.substr(value, end - value);
    while (text.ends_with(' ')) text.remove_suffix(1);
    event.fields.emplace(line.substr(begin, at - begin), text);
    at = end;
  }
  return event;
}

}  // namespace

std::vector<Printed> babeltrace(const std::string& path) {
  const Finished finished = run({"babeltrace2", "--clock-cycles", "--no-delta", path});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.err, "");
  std::vector<Printed> events;
  std::istringstream text(finished.out);
  for (std::string line; std::getline(text, line);) events.push_back(parse(line));
  return events;
}

uint64_t printed_number(const std::string& text) {
  if (text.starts_with('-')) return static_cast<uint64_t>(std::stoll(text));
  return std::stoull(text, nullptr, 0);
}

std::vector<uint64_t> printed_numbers(const std::string& text) {
  std::vector<uint64_t> numbers;
  for (size_t at = 0; (at = text.find(" = ", at)) != std::string::npos; at += 3)
    numbers.push_back(
        printed_number(text.substr(at + 3, text.find_first_of(", ", at + 3) - at - 3)));
  return numbers;
}

}  // namespace ktraced::live
