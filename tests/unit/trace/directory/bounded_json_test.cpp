// SPDX-License-Identifier: BSD-2-Clause
#include "trace/directory/bounded_json.h"

#include <gtest/gtest.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdio>
#include <memory>
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

}  // namespace
}  // namespace ktraced
