// SPDX-License-Identifier: BSD-2-Clause
#include "base/text/time_point.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "base/text/c_text.h"
#include "base/text/duration.h"

namespace ktraced {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kLatestSecond = 9'000'000'000;  // in ns it still fits

// Takes parts off the front of a text. After a part that is not there, it has failed.
class Parts {
 public:
  explicit Parts(std::string_view text) : rest_(text) {}

  // A number of exactly `digits` digits, from `least` to `most`.
  int number(size_t digits, int least, int most) {
    int value = 0;
    const std::string_view part = rest_.substr(0, digits);
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    const bool good = error == std::errc() && part.front() != '-' &&
                      static_cast<size_t>(end - part.data()) == digits && value >= least &&
                      value <= most;
    if (!good) failed_ = true;
    rest_.remove_prefix(good ? digits : 0);
    return good ? value : 0;
  }
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) { failed_ |= !take(c); }
  // ".5" as ns; 0 if there is none. Digits after the ninth are ignored.
  uint64_t fraction() {
    if (!take('.')) return 0;
    uint64_t ns = 0, unit = kSecond;
    failed_ |= rest_.empty();
    for (; !rest_.empty() && is_digit_char(rest_.front()); rest_.remove_prefix(1))
      ns += static_cast<uint64_t>(rest_.front() - '0') * (unit /= 10);
    return ns;
  }
  // "14:03" or "14:03:21.5", as ns since midnight.
  uint64_t of_day() {
    uint64_t seconds = static_cast<uint64_t>(number(2, 0, 23)) * 3600;
    expect(':');
    seconds += static_cast<uint64_t>(number(2, 0, 59)) * 60;
    if (!take(':')) return seconds * kSecond;
    seconds += static_cast<uint64_t>(number(2, 0, 60));
    return seconds * kSecond + fraction();
  }
  // "Z", "+01:00" or "-0130", as seconds to subtract; nothing: local time.
  std::optional<int64_t> zone() {
    if (rest_.empty()) return std::nullopt;
    if (take('Z')) return 0;
    const int sign = take('-') ? -1 : 1;
    if (sign == 1) expect('+');
    const int hours = number(2, 0, 14);
    take(':');
    return int64_t{sign} * (hours * 3600 + number(2, 0, 59) * 60);
  }
  [[nodiscard]] bool done() const { return !failed_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

void set_time_of_day(tm& date, uint64_t of_day) {
  date.tm_hour = static_cast<int>(of_day / kSecond / 3600);
  date.tm_min = static_cast<int>(of_day / kSecond / 60 % 60);
  date.tm_sec = static_cast<int>(of_day / kSecond % 60);
}

int64_t utc_offset(int64_t seconds) {
  const time_t time = seconds;
  tm date{};
  ::localtime_r(&time, &date);
  return date.tm_gmtoff;
}

// Times of CLOCK_REALTIME at which local clocks show `date`, in order: two if they are set back in
// between. If they are set forward over it, they are taken not to be, so it is after that. Not
// mktime(): which of two times it returns depends on earlier calls. Days after the end of a month
// are in the next one.
std::vector<uint64_t> times_showing(tm date, uint64_t of_day) {
  constexpr int64_t kDay = 86400;
  set_time_of_day(date, of_day);
  const int64_t shown = ::timegm(&date);
  const int64_t before = shown - utc_offset(shown - kDay), after = shown - utc_offset(shown + kDay);
  std::vector<int64_t> seconds;
  for (const int64_t each : {before, after})
    if (each + utc_offset(each) == shown) seconds.push_back(each);
  if (seconds.empty()) seconds.push_back(before);
  std::ranges::sort(seconds);
  seconds.erase(std::ranges::unique(seconds).begin(), seconds.end());
  std::vector<uint64_t> times;
  times.reserve(seconds.size());
  for (const int64_t each : seconds)
    times.push_back(static_cast<uint64_t>(std::max<int64_t>(each, 0)) * kSecond + of_day % kSecond);
  return times;
}

bool is_in_calendar(tm date) {
  const tm typed = date;
  ::timegm(&date);
  return date.tm_mon == typed.tm_mon && date.tm_mday == typed.tm_mday;
}

// The times at which clocks show a local date and time, see times_showing(); none if it is no date.
std::vector<uint64_t> date_time(std::string_view text) {
  Parts parts(text);
  tm date{};
  date.tm_year = parts.number(4, 1970, 2200) - 1900;
  parts.expect('-');
  date.tm_mon = parts.number(2, 1, 12) - 1;
  parts.expect('-');
  date.tm_mday = parts.number(2, 1, 31);
  uint64_t of_day = 0;
  const bool has_time = parts.take('T') || parts.take(' ');
  if (has_time) of_day = parts.of_day();
  const auto zone = parts.zone();
  if (!parts.done() || !is_in_calendar(date)) return {};
  if (!zone) {
    auto times = times_showing(date, of_day);
    if (!has_time) times.resize(1);  // the day begins once
    return times;
  }
  set_time_of_day(date, of_day);
  const int64_t seconds = ::timegm(&date) - *zone;
  if (seconds < 0) return {};
  return {static_cast<uint64_t>(seconds) * kSecond + of_day % kSecond};
}

std::optional<uint64_t> seconds_and_fraction(std::string_view text) {
  uint64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || seconds > kLatestSecond) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  Parts parts(text.ends_with('s') ? text.substr(0, text.size() - 1) : text);
  const uint64_t ns = parts.fraction();
  if (!parts.done()) return std::nullopt;
  return seconds * kSecond + ns;
}

bool begins_with_date(std::string_view text) { return text.size() > 4 && text[4] == '-'; }

tm local(uint64_t realtime_ns) {
  const auto seconds = static_cast<time_t>(realtime_ns / kSecond);
  tm date{};
  ::localtime_r(&seconds, &date);
  return date;
}

std::string fraction_text(uint64_t ns) { return fmt::format(".{:06}", ns % kSecond / 1000); }

}  // namespace

Result<TimePoint> parse_time_point(std::string_view text) {
  using Kind = TimePoint::Kind;
  const auto made = [&](Kind kind, uint64_t ns) {
    return TimePoint{.kind = kind, .ns = ns, .text = std::string(text)};
  };
  if (text.starts_with('-')) {
    if (const auto before = parse_duration(text.substr(1)))
      return made(Kind::before_end, static_cast<uint64_t>(before->count()));
  } else if (begins_with_date(text)) {
    const auto times = date_time(text);
    if (times.size() == 1) return made(Kind::wall, times.front());
    if (!times.empty())
      return fail(ExitCode::usage,
                  "'{}' is twice on that day, because the clock is set back: write {} or {}", text,
                  iso_time_text(times.front()), iso_time_text(times.back()));
  } else if (text.contains(':')) {
    Parts parts(text);
    const uint64_t ns = parts.of_day();
    if (parts.done()) return made(Kind::of_day, ns);
  } else if (const auto ns = seconds_and_fraction(text)) {
    return made(Kind::boot, *ns);
  }
  return fail(ExitCode::usage,
              "'{}' is not a time: write seconds since boot (1872.5), a time of day (14:03:21.5), "
              "a date and time (2026-11-23T14:03:21), or a time before the end (-2s)",
              text);
}

std::vector<uint64_t> local_times_of_day(uint64_t realtime_ns, int days, uint64_t of_day) {
  tm date = local(realtime_ns);
  date.tm_mday += days;
  return times_showing(date, of_day);
}

std::string time_of_day_text(uint64_t realtime_ns) {
  const tm date = local(realtime_ns);
  return fmt::format("{:02}:{:02}:{:02}", date.tm_hour, date.tm_min, date.tm_sec) +
         fraction_text(realtime_ns);
}

std::string iso_time_text(uint64_t realtime_ns) {
  const tm date = local(realtime_ns);
  const long minutes = date.tm_gmtoff / 60;
  const long magnitude = minutes < 0 ? -minutes : minutes;
  return fmt::format("{:04}-{:02}-{:02}T{}{}{:02}:{:02}", date.tm_year + 1900, date.tm_mon + 1,
                     date.tm_mday, time_of_day_text(realtime_ns), minutes < 0 ? '-' : '+',
                     magnitude / 60, magnitude % 60);
}

}  // namespace ktraced
