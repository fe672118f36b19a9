// SPDX-License-Identifier: BSD-2-Clause
// --since, --until and --last.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/text/time_point.h"
#include "trace/directory/time_window.h"

namespace ktraced {

class History;

// As typed.
struct TimeArgs {
  std::optional<TimePoint> since;
  std::optional<TimePoint> until;
  std::optional<double> last_s;  // before `until`, or before the end; without `since`

  [[nodiscard]] bool empty() const { return !since && !until && !last_s; }
};

// The times of a history, to which those typed are related.
struct HistoryTimes {
  TimeWindow extent;            // from its first to its last record
  int64_t clock_offset_ns = 0;  // CLOCK_REALTIME minus CLOCK_BOOTTIME; 0: unknown
};

// The part of a history that the times select. A time of day means the day on which it is in the
// history, the last of several, or is nearest to it. Fails with ExitCode::usage for a part before
// or after all records, and for wall-clock times if the clock offset is unknown.
[[nodiscard]] Result<TimeWindow> window_of(const TimeArgs& args, const HistoryTimes& times);

// Limits `history`, of which nothing was read yet, to that part.
[[nodiscard]] Result<> select_times(const TimeArgs& args, History& history);

// The seconds after which a stream ends: `duration_s`, or at `until` if that is earlier; nothing:
// never. `now_*` are the clocks. Fails with ExitCode::usage for a time that is not to come.
[[nodiscard]] Result<std::optional<double>> stream_seconds(std::optional<double> duration_s,
                                                           const TimeArgs& args,
                                                           uint64_t now_boot_ns,
                                                           uint64_t now_realtime_ns);
// The same from now on.
[[nodiscard]] Result<std::optional<double>> stream_seconds(std::optional<double> duration_s,
                                                           const TimeArgs& args);

// CLOCK_REALTIME at a time of CLOCK_BOOTTIME, which is `clock_offset_ns` less.
[[nodiscard]] uint64_t realtime_of(uint64_t boottime_ns, int64_t clock_offset_ns);

// "1872.309427 to 1872.895718 after boot (14:03:20.309427 to 14:03:20.895718)".
[[nodiscard]] std::string times_text(const HistoryTimes& times);

}  // namespace ktraced
