// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/selection/time_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "trace/merge/history.h"

namespace ktraced {

uint64_t realtime_of(uint64_t boottime_ns, int64_t clock_offset_ns) {
  return boottime_ns + static_cast<uint64_t>(clock_offset_ns);
}

namespace {

double in_seconds_of(uint64_t ns) { return static_cast<double>(ns) / 1e9; }

uint64_t minus(uint64_t ns, uint64_t less) { return ns - std::min(ns, less); }

// Times before the boot are the boot.
uint64_t boottime_of(uint64_t realtime_ns, int64_t offset_ns) {
  const auto offset = static_cast<uint64_t>(offset_ns);
  return offset_ns < 0 ? realtime_ns - offset : minus(realtime_ns, offset);
}

// How far a time is from a window.
uint64_t distance(const TimeWindow& window, uint64_t ts) {
  return ts < window.begin_ns ? window.begin_ns - ts : minus(ts, window.end_ns);
}

// Nearest to the window; of several the last.
uint64_t nearest_day(uint64_t of_day, const HistoryTimes& times) {
  const uint64_t end = realtime_of(times.extent.end_ns, times.clock_offset_ns);
  uint64_t nearest = 0, best = UINT64_MAX;
  for (const int days : {1, 0, -1}) {
    const uint64_t ts = boottime_of(local_time_of_day(end, days, of_day), times.clock_offset_ns);
    const uint64_t far = distance(times.extent, ts);
    if (far >= best) continue;
    nearest = ts;
    best = far;
  }
  return nearest;
}

Result<uint64_t> resolve(const TimePoint& point, const char* option, const HistoryTimes& times) {
  switch (point.kind) {
    case TimePoint::Kind::boot:
      return point.ns;
    case TimePoint::Kind::before_end:
      return minus(times.extent.end_ns, point.ns);
    case TimePoint::Kind::of_day:
    case TimePoint::Kind::wall:
      break;
  }
  if (times.clock_offset_ns == 0)
    return fail(ExitCode::usage,
                "{} {}: the trace does not say what the wall clock was; give seconds since boot",
                option, point.text);
  if (point.kind == TimePoint::Kind::wall) return boottime_of(point.ns, times.clock_offset_ns);
  return nearest_day(point.ns, times);
}

std::string typed(const TimeArgs& args) {
  std::string text;
  if (args.since) text += fmt::format(" --since {}", args.since->text);
  if (args.until) text += fmt::format(" --until {}", args.until->text);
  if (args.last_s) text += fmt::format(" --last {}s", *args.last_s);
  return text.substr(1);
}

}  // namespace

std::string times_text(const HistoryTimes& times) {
  const auto& [begin, end] = times.extent;
  std::string text =
      fmt::format("{:.6f} to {:.6f} after boot", in_seconds_of(begin), in_seconds_of(end));
  if (times.clock_offset_ns == 0) return text;
  const auto wall = [&](uint64_t ns) { return realtime_of(ns, times.clock_offset_ns); };
  return text + fmt::format(" ({} to {})", iso_time_text(wall(begin)), time_of_day_text(wall(end)));
}

Result<TimeWindow> window_of(const TimeArgs& args, const HistoryTimes& times) {
  TimeWindow window;
  if (args.empty()) return window;
  if (args.until) {
    auto until = resolve(*args.until, "--until", times);
    if (!until) return propagate(until);
    window.end_ns = *until;
  }
  if (args.last_s)
    window.begin_ns = minus(std::min(window.end_ns, times.extent.end_ns),
                            static_cast<uint64_t>(std::llround(*args.last_s * 1e9)));
  if (args.since) {
    auto since = resolve(*args.since, "--since", times);
    if (!since) return propagate(since);
    window.begin_ns = *since;
  }
  if (window.begin_ns > window.end_ns)
    return fail(ExitCode::usage, "{} selects nothing: it begins after its end", typed(args));
  if (times.extent.end_ns < times.extent.begin_ns) return window;  // there are no records
  const bool after = window.begin_ns > times.extent.end_ns;
  if (after || window.end_ns < times.extent.begin_ns)
    return fail(ExitCode::usage, "{} is {} the trace, which has {}", typed(args),
                after ? "after the end of" : "before the beginning of", times_text(times));
  return window;
}

Result<> select_times(const TimeArgs& args, History& history) {
  if (args.empty() || history.traces().empty()) return {};
  auto window = window_of(
      args, {.extent = history.extent(),
             .clock_offset_ns = history.traces().back().manifest().origin.clock_offset_ns});
  if (!window) return propagate(window);
  history.set_window(*window);
  return {};
}

Result<std::optional<double>> stream_seconds(std::optional<double> duration_s,
                                             const TimeArgs& args) {
  return stream_seconds(duration_s, args, boottime_ns(), clock_ns(CLOCK_REALTIME));
}

Result<std::optional<double>> stream_seconds(std::optional<double> duration_s, const TimeArgs& args,
                                             uint64_t now_boot_ns, uint64_t now_realtime_ns) {
  if (!args.until) return duration_s;
  const TimePoint& until = *args.until;
  uint64_t now = now_realtime_ns, end = until.ns;
  switch (until.kind) {
    case TimePoint::Kind::boot:
      now = now_boot_ns;
      break;
    case TimePoint::Kind::of_day:
      end = local_time_of_day(now, 0, until.ns);
      if (end <= now) end = local_time_of_day(now, 1, until.ns);
      break;
    case TimePoint::Kind::before_end:
      end = 0;
      break;
    case TimePoint::Kind::wall:
      break;
  }
  if (end <= now)
    return fail(ExitCode::usage, "--until {}: a stream ends at a time that is to come", until.text);
  const double seconds = in_seconds_of(end - now);
  return std::optional(std::min(duration_s.value_or(seconds), seconds));
}

}  // namespace ktraced
