// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/access/address_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/text/c_text.h"
#include "daemon/access/pseudonyms.h"

namespace ktraced {
namespace {

constexpr size_t kHexDigits = 16;      // of an address
constexpr size_t kDecimalDigits = 20;  // of an address

bool is_hex_digit(char c) {
  return is_digit_char(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_address(std::span<const char> digits, int base) {
  uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [after, error] = std::from_chars(digits.data(), end, value, base);
  return error == std::errc{} && after == end && is_kernel_address(value);
}

// `run`: all digits there.
void blank_run(std::span<char> run) {
  if (run.size() >= kHexDigits && is_address(run, 16)) {
    std::ranges::fill(run, '0');
    return;
  }
  if (run.size() < kDecimalDigits || !std::ranges::all_of(run, is_digit_char) ||
      !is_address(run, 10))
    return;
  // A number in JSON has no leading zeros.
  std::ranges::fill(run, ' ');
  run.front() = '0';
}

}  // namespace

void blank_addresses(std::span<char> text) {
  for (auto at = text.begin(); at != text.end();) {
    const auto begin = std::find_if(at, text.end(), is_hex_digit);
    at = std::find_if_not(begin, text.end(), is_hex_digit);
    blank_run({begin, at});
  }
}

}  // namespace ktraced
