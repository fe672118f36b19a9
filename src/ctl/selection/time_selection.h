// SPDX-License-Identifier: BSD-2-Clause
// --since, --until and --last.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "base/text/time_point.h"
#include "ctl/selection/wall_clocks.h"
#include "trace/directory/time_window.h"

namespace ktraced {

class History;

// --since, --until and --last as typed.
struct TimeArgs {
  std::optional<TimePoint> since;
  std::optional<TimePoint> until;
  std::optional<double> last_s;  // before `until`, or before the end; without `since`

  [[nodiscard]] bool empty() const { return !since && !until && !last_s; }
};

// "--since 14:03 --last 2s"; empty if there are none.
[[nodiscard]] std::string typed_times(const TimeArgs& args);
// Options that select nothing, with the times within which they do not: "--pid 7 within --last 2s".
[[nodiscard]] std::string within_times(const std::string& options, const TimeArgs& args);

// The part of a history that the times select. `traces`: the times of each of its traces. A time of
// day is on a day of the traces: the last of several at which a trace recorded, or the nearest one.
// --until is the first such time after --since. Fails with ExitCode::usage for a part in which no
// trace recorded, and for wall-clock times if a clock offset is unknown.
[[nodiscard]] Result<TimeWindow> window_of(const TimeArgs& args,
                                           std::span<const HistoryTimes> traces);

// Limits `history`, of which nothing was read yet, to that part.
[[nodiscard]] Result<> select_times(const TimeArgs& args, History& history);

// The seconds after which a stream ends: `duration_s`, or at `until` if that is earlier; nothing:
// never. `now_*` are the clocks. Fails with ExitCode::usage for a time that is not to come.
[[nodiscard]] Result<std::optional<double>> stream_seconds(std::optional<double> duration_s,
                                                           const TimeArgs& args,
                                                           uint64_t now_boot_ns,
                                                           uint64_t now_realtime_ns);
// The seconds after which a stream that begins now ends: `duration_s`, or at `until` if that is
// earlier; nothing: never. Fails with ExitCode::usage for a time that is not to come.
[[nodiscard]] Result<std::optional<double>> stream_seconds(std::optional<double> duration_s,
                                                           const TimeArgs& args);

// "1872.309427 to 1872.895718 after boot (14:03:20.309427 to 14:03:20.895718)".
// From the begin of `first` to the end of `last`, with the wall clock of each if both have it. The
// second time has its date if it is on another day.
[[nodiscard]] std::string times_text(const HistoryTimes& first, const HistoryTimes& last);

}  // namespace ktraced
