// SPDX-License-Identifier: BSD-2-Clause
#include "base/user_id.h"

#include <pwd.h>

#include <cerrno>
#include <charconv>
#include <vector>

namespace ktraced {
namespace {

constexpr size_t kEntryBytesMax = 1U << 20;

}  // namespace

Result<uint32_t> parse_user(const std::string& text) {
  uint32_t number = 0;
  const char* const end = text.data() + text.size();
  if (auto [rest, error] = std::from_chars(text.data(), end, number);
      error == std::errc() && rest == end)
    return number;
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(1024);
  int error = ERANGE;
  for (; error == ERANGE && buffer.size() <= kEntryBytesMax; buffer.resize(buffer.size() * 2))
    error = ::getpwnam_r(text.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr)
    return fail(ExitCode::usage, "'{}' is neither a uid nor the name of a user", text);
  return entry.pw_uid;
}

}  // namespace ktraced
