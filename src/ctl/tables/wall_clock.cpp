// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/tables/wall_clock.h"

#include <chrono>

namespace ktraced {

void WallClock::write(size_t at, size_t digits, int64_t number) {
  for (size_t i = digits; i-- > 0; number /= 10)
    text_[at + i] = static_cast<char>('0' + number % 10);
}

std::string_view WallClock::of(int64_t ns) {
  constexpr int64_t kNsPerSecond = 1'000'000'000;
  if (ns < 0) return {};
  const int64_t second = ns / kNsPerSecond;
  if (second != second_) {
    using namespace std::chrono;
    const sys_seconds time{seconds(second)};
    const year_month_day date{floor<days>(time)};
    const hh_mm_ss clock{time - floor<days>(time)};
    write(0, 4, static_cast<int>(date.year()));
    write(5, 2, static_cast<unsigned>(date.month()));
    write(8, 2, static_cast<unsigned>(date.day()));
    write(11, 2, clock.hours().count());
    write(14, 2, clock.minutes().count());
    write(17, 2, clock.seconds().count());
    second_ = second;
  }
  write(20, 9, ns % kNsPerSecond);
  return {text_.data(), text_.size()};
}

}  // namespace ktraced
