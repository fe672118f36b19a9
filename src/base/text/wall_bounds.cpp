// SPDX-License-Identifier: BSD-2-Clause
#include "base/text/wall_bounds.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <string>

#include "base/text/c_text.h"

namespace ktraced {
namespace {

// The first and the last time of the years that CLOCK_REALTIME can have in ns.
constexpr std::string_view kFirst = "1970-01-01T00:00:00.000000000Z";
constexpr std::string_view kLast = "2553-12-31T23:59:59.999999999Z";

// A part of a time, and what it may be.
struct Part {
  size_t begin, end;
  int least, most;
};
constexpr std::array<Part, 6> kParts = {{{0, 4, 1970, 2553},
                                         {5, 7, 1, 12},
                                         {8, 10, 1, 31},
                                         {11, 13, 0, 23},
                                         {14, 16, 0, 59},
                                         {17, 19, 0, 59}}};
constexpr size_t kDay = 10, kFraction = 20;  // ends with the day, begins the fraction

int number_in(std::string_view text, size_t begin, size_t end) {
  int number = -1;
  std::from_chars(text.data() + begin, text.data() + end, number);
  return number;
}

bool is_date(std::string_view text) {
  using namespace std::chrono;
  const auto number = [&](const Part& part) {
    return static_cast<unsigned>(number_in(text, part.begin, part.end));
  };
  return year_month_day(year(static_cast<int>(number(kParts[0]))), month(number(kParts[1])),
                        day(number(kParts[2])))
      .ok();
}

// How many characters are those of whole parts of a time.
size_t length_of_time(std::string_view text) {
  size_t at = 0;
  while (at < std::min(text.size(), kFirst.size()) &&
         (is_digit_char(kFirst[at]) ? is_digit_char(text[at]) : text[at] == kFirst[at]))
    ++at;
  size_t length = 0;
  for (const Part& part : kParts) {
    const int number = part.end <= at ? number_in(text, part.begin, part.end) : -1;
    if (number < part.least || number > part.most) return length;
    if (part.end == kDay && !is_date(text)) return length;
    length = part.end;
  }
  return at >= kFraction ? at : length;
}

// The time of a whole text; days after the end of a month are in the next one.
uint64_t time_of(std::string_view text) {
  using namespace std::chrono;
  const auto part = [&](size_t number) {
    return number_in(text, kParts[number].begin, kParts[number].end);
  };
  const sys_days first{year(part(0)) / month(static_cast<unsigned>(part(1))) / 1};
  const seconds since_1970 = (first + days(part(2) - 1)).time_since_epoch() + hours(part(3)) +
                             minutes(part(4)) + seconds(part(5));
  const int fraction = number_in(text, kFraction, kFirst.size() - 1);
  return static_cast<uint64_t>(since_1970.count()) * 1'000'000'000 +
         static_cast<uint64_t>(fraction);
}

}  // namespace

WallBounds wall_bounds(std::string_view text) {
  const size_t length = length_of_time(text);
  if (length == 0) return {};
  const std::string begin(text.substr(0, length));
  const uint64_t least = time_of(begin + std::string(kFirst.substr(length)));
  // Every time that begins with the whole text is greater than it, or equal.
  if (length == text.size()) return {.least_ns = least, .most_ns = least};
  return {.least_ns = least, .most_ns = time_of(begin + std::string(kLast.substr(length)))};
}

}  // namespace ktraced
