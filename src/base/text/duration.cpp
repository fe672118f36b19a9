// SPDX-License-Identifier: BSD-2-Clause
#include "base/text/duration.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace ktraced {
namespace {

struct Unit {
  std::string_view name;
  double ns;
};

constexpr std::array<Unit, 8> kUnits{{{"", 1e9},
                                      {"ns", 1},
                                      {"us", 1e3},
                                      {"ms", 1e6},
                                      {"s", 1e9},
                                      {"m", 60e9},
                                      {"h", 3600e9},
                                      {"d", 86400e9}}};
constexpr double kLongestNs = 100.0 * 365 * 86400e9;  // longer durations would overflow the clocks

}  // namespace

Result<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto unit =
      std::ranges::find(kUnits, text.substr(static_cast<size_t>(end - text.data())), &Unit::name);
  if (error != std::errc() || unit == kUnits.end() || !std::isfinite(number))
    return fail(ExitCode::usage,
                "'{}' is not a time: write a number above 0 with a unit (ns, us, ms, s, m, h, d), "
                "such as 500ms; without a unit it is seconds",
                text);
  const double ns = number * unit->ns;
  if (!(ns >= 1))
    return fail(ExitCode::usage, "'{}' is not a time above 0: write one such as 500ms or 2s", text);
  if (ns > kLongestNs) return fail(ExitCode::usage, "'{}' is too long: 100 years at most", text);
  return std::chrono::nanoseconds(std::llround(ns));
}

}  // namespace ktraced
