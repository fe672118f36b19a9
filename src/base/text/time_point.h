// SPDX-License-Identifier: BSD-2-Clause
// Times as users write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace ktraced {

struct TimePoint {
  enum class Kind : uint8_t {
    boot,        // since boot
    before_end,  // of the trace
    of_day,      // since midnight, local time
    wall,        // CLOCK_REALTIME
  };

  Kind kind = Kind::boot;
  uint64_t ns = 0;
  std::string text;  // as typed
};

// "1872.309427" is seconds since boot, "-2s" and "-150ms" are relative to the end, "14:03:21.5" is
// local time of a day, and "2026-11-23T14:03:21.5" local time with its date; "Z" or "+01:00" after
// it names another time zone. Fails with ExitCode::usage for anything else, and for a local time
// that is twice on its day.
[[nodiscard]] Result<TimePoint> parse_time_point(std::string_view text);

// CLOCK_REALTIME of `of_day` ns after midnight, as local clocks show it, `days` days after the day
// of `realtime_ns`. Two times, in order, if the clocks are set back over it; if they are set
// forward over it, the time that is as long after midnight.
[[nodiscard]] std::vector<uint64_t> local_times_of_day(uint64_t realtime_ns, int days,
                                                       uint64_t of_day);

// "14:03:21.500000", local time.
[[nodiscard]] std::string time_of_day_text(uint64_t realtime_ns);
// "2026-11-23T14:03:21.500000+01:00", local time with its time zone.
[[nodiscard]] std::string iso_time_text(uint64_t realtime_ns);

}  // namespace ktraced
