// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/input/report_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text/json_access.h"
#include "base/text/time_point.h"
#include "ctl/input/report_input.h"

namespace ktraced {

ReportClock::ReportClock(const nlohmann::json& report)
    : begin_ns_(number_at(member(report, "window"), "begin_ns")), clocks_(clocks_of(report)) {}

bool ReportClock::knows() const {
  return std::ranges::any_of(clocks_,
                             [](const ClockOffset& clock) { return clock.offset_ns != 0; });
}

std::string ReportClock::text(uint64_t boottime_ns) const {
  constexpr size_t kDate = 10, kToSeconds = 19;  // characters of "2026-11-23T14:03:21.500000+01:00"
  const int64_t offset = offset_at(clocks_, boottime_ns);
  if (offset == 0) return "-";
  const uint64_t wall = realtime_of(boottime_ns, offset);
  const std::string iso = iso_time_text(wall);
  const std::string first_day =
      iso_time_text(realtime_of(begin_ns_, offset_at(clocks_, begin_ns_)));
  const std::string_view date = std::string_view(iso).substr(0, kDate);
  if (first_day.starts_with(date)) return time_of_day_text(wall);
  if (boottime_ns >= begin_ns_) return fmt::format("{} {}", date, time_of_day_text(wall));
  return fmt::format("{} {}", date, iso.substr(kDate + 1, kToSeconds - kDate - 1));
}

void ReportClock::add_heading(std::vector<Table::Cell>& head, const Colours& colours) const {
  if (knows()) head.push_back(heading("WALL CLOCK", true, colours));
}

void ReportClock::add_time(std::vector<Table::Cell>& row, uint64_t boottime_ns) const {
  if (knows()) row.push_back({text(boottime_ns), true});
}

void ReportClock::add_nothing(std::vector<Table::Cell>& row) const {
  if (knows()) row.push_back({"-", true});
}

}  // namespace ktraced
