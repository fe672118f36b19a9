// SPDX-License-Identifier: BSD-2-Clause
#include "trace/directory/bounded_json.h"

#include <gtest/gtest.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace ktraced {
namespace {

// A file on a disk that fails behind the text.
std::unique_ptr<std::FILE, int (*)(std::FILE*)> failing_file(std::string_view& text) {
  const auto read = [](void* cookie, char* to, size_t size) -> ssize_t {
    auto& rest = *static_cast<std::string_view*>(cookie);
    if (rest.empty()) {
      errno = EIO;
      return -1;
    }
    const size_t count = rest.copy(to, size);
    rest.remove_prefix(count);
    return static_cast<ssize_t>(count);
  };
  return {::fopencookie(&text, "r", {.read = read}), &std::fclose};
}

TEST(BoundedJson, ReportsAFileThatCannotBeReadAndNotDamage) {
  for (std::string_view text : {"", R"({"a": [)", R"({"a": [1]})"}) {
    const auto file = failing_file(text);
    const auto parsed = parse_json(file.get());
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, ExitCode::io);
    EXPECT_EQ(parsed.error().message, "cannot be read: Input/output error");
  }
  std::string_view text = R"({"a": [1, 2)";
  int taken = 0;
  const auto file = failing_file(text);
  const auto parsed = parse_json_entries(file.get(), {}, [&](const auto&, auto&&) { ++taken; });
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ExitCode::io);
  EXPECT_EQ(taken, 2);
}

std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_of(std::string& text) {
  return {::fmemopen(text.data(), text.size(), "r"), &std::fclose};
}

TEST(BoundedJson, RefusesALongTextBeforeItIsRead) {
  const std::string most(98, 'x');
  for (std::string good :
       {"[\"" + most + "\"]", "{\"" + most + "\":1}", "[\"\\\"" + most.substr(2) + "\"]",
        std::string(R"(["a", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a", )"
                    R"("a", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a"])")})
    EXPECT_TRUE(parse_json(file_of(good).get(), {.text_bytes = 100})) << good;
  // None of them ends, so that a parser which holds the whole text would find damage first.
  for (std::string bad :
       {"[\"" + most + "xyz", "{\"" + most + "xyz", "[\"\\\"" + most + "xy",
        "[1" + std::string(100, '0'), "[" + std::string(101, ' '), "[\"" + most + "\"  "}) {
    const auto parsed = parse_json(file_of(bad).get(), {.text_bytes = 100});
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.error().code, ExitCode::data);
    EXPECT_EQ(parsed.error().message,
              "is too large: it has a text or a number of more than 100 bytes")
        << bad;
  }
}

TEST(BoundedJson, TakesNoMoreEntriesThanTheLimit) {
  for (std::string text : {R"({"a": [1, 2, 3, 4)", R"({"a": {"b": 1, "c": 2, "d": 3, "e": 4)",
                           R"({"a": [1, 2], "b": [3], "c": [4)"}) {
    int taken = 0;
    const auto parsed = parse_json_entries(file_of(text).get(), {.entries = 3},
                                           [&](const auto&, auto&&) { ++taken; });
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().message, "is too large: it has a list of more than 3 entries");
    EXPECT_EQ(taken, 3) << text;
  }
}

TEST(BoundedJson, CountsTheListsOfEntriesThatItKeeps) {
  std::string text = "{";
  for (int i = 0; i < 20; ++i) text += "\"" + std::to_string(i) + "\":[7],";
  const auto parsed =
      parse_json_entries(file_of(text).get(), {.values = 10}, [](const auto&, auto&&) {});
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message, "is too large: it has more than 10 values");
}

}  // namespace
}  // namespace ktraced
