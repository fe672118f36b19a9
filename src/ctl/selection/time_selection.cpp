// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/selection/time_selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/files/namespaces.h"
#include "trace/merge/history.h"

namespace ktraced {

namespace {

using TimeKind = TimePoint::Kind;

double in_seconds_of(uint64_t ns) { return static_cast<double>(ns) / 1e9; }

uint64_t minus(uint64_t ns, uint64_t less) { return ns - std::min(ns, less); }

bool is_of_day(const std::optional<TimePoint>& point) {
  return point && point->kind == TimeKind::of_day;
}

bool is_wall(const std::optional<TimePoint>& point) {
  return point && (point->kind == TimeKind::of_day || point->kind == TimeKind::wall);
}

// What --since, --until and --last mean in traces that have records.
class Resolver {
 public:
  Resolver(const TimeArgs& args, std::span<const HistoryTimes> traces)
      : args_(args), traces_(traces) {
    for (const HistoryTimes& trace : traces) {
      if (first_ == nullptr || trace.extent.begin_ns < first_->extent.begin_ns) first_ = &trace;
      if (last_ == nullptr || trace.extent.end_ns > last_->extent.end_ns) last_ = &trace;
    }
  }

  Result<TimeWindow> window() {
    if (auto known = check_clocks(); !known) return propagate(known);
    if (is_wall(args_.since) || is_wall(args_.until)) clocks_.emplace(traces_);
    TimeWindow window;
    if (is_of_day(args_.since) && is_of_day(args_.until)) {
      window = clocks_->of_day(args_.since->ns, args_.until->ns);
    } else {
      if (args_.since && !is_of_day(args_.since)) window.begin_ns = moment(*args_.since);
      if (args_.until && !is_of_day(args_.until)) window.end_ns = moment(*args_.until);
      if (is_of_day(args_.since))
        window.begin_ns = clocks_->of_day(args_.since->ns, window, WallClocks::Pick::last);
      if (is_of_day(args_.until))
        window.end_ns =
            clocks_->of_day(args_.until->ns, window,
                            args_.since ? WallClocks::Pick::first : WallClocks::Pick::last);
    }
    if (args_.last_s)
      window.begin_ns = minus(std::min(window.end_ns, last_->extent.end_ns),
                              static_cast<uint64_t>(std::llround(*args_.last_s * 1e9)));
    if (auto any = check(window); !any) return propagate(any);
    return window;
  }

 private:
  [[nodiscard]] Result<> check_clocks() const {
    for (const auto& [point, option] :
         {std::pair(&args_.since, "--since"), std::pair(&args_.until, "--until")})
      if (is_wall(*point) && std::ranges::count(traces_, 0, &HistoryTimes::clock_offset_ns) != 0)
        return fail(ExitCode::usage,
                    "{} {}: the trace does not say what the wall clock was; give seconds since "
                    "boot",
                    option, (*point)->text);
    return {};
  }
  [[nodiscard]] uint64_t moment(const TimePoint& point) const {
    if (point.kind == TimeKind::wall) return clocks_->boottime_of(point.ns);
    return point.kind == TimeKind::boot ? point.ns : minus(last_->extent.end_ns, point.ns);
  }
  [[nodiscard]] Result<> check(const TimeWindow& window) const {
    if (window.begin_ns > window.end_ns)
      return fail(ExitCode::usage, "{} selects nothing: it begins after its end",
                  typed_times(args_));
    const bool recorded = std::ranges::any_of(
        traces_, [&](const HistoryTimes& trace) { return distance(window, trace.extent) == 0; });
    if (recorded) return {};
    const bool after = window.begin_ns > last_->extent.end_ns;
    const bool before = window.end_ns < first_->extent.begin_ns;
    return fail(ExitCode::usage, "{} is {} the {}, which {} {}", typed_times(args_),
                after    ? "after the end of"
                : before ? "before the beginning of"
                         : "between",
                after || before ? "trace" : "traces", after || before ? "has" : "have",
                times_text(*first_, *last_));
  }

  const TimeArgs& args_;
  std::span<const HistoryTimes> traces_;
  const HistoryTimes* first_ = nullptr;  // that begins first
  const HistoryTimes* last_ = nullptr;   // that ends last
  std::optional<WallClocks> clocks_;
};

}  // namespace

std::string typed_times(const TimeArgs& args) {
  std::vector<std::string> options;
  if (args.since) options.push_back(fmt::format("--since {}", args.since->text));
  if (args.until) options.push_back(fmt::format("--until {}", args.until->text));
  if (args.last_s) options.push_back(fmt::format("--last {}s", *args.last_s));
  return fmt::format("{}", fmt::join(options, " "));
}

std::string within_times(const std::string& options, const TimeArgs& args) {
  const std::string times = typed_times(args);
  return times.empty() || options == times ? options : options + " within " + times;
}

std::string times_text(const HistoryTimes& first, const HistoryTimes& last) {
  const uint64_t begin = first.extent.begin_ns, end = last.extent.end_ns;
  std::string text =
      fmt::format("{:.6f} to {:.6f} after boot", in_seconds_of(begin), in_seconds_of(end));
  if (first.clock_offset_ns == 0 || last.clock_offset_ns == 0) return text;
  constexpr size_t kDate = 10;  // characters of "2026-11-23T…"
  const uint64_t end_wall = realtime_of(end, last.clock_offset_ns);
  const std::string from = iso_time_text(realtime_of(begin, first.clock_offset_ns));
  const std::string to = iso_time_text(end_wall);
  const bool same_day = from.substr(0, kDate) == to.substr(0, kDate);
  return text + fmt::format(" ({} to {})", from, same_day ? time_of_day_text(end_wall) : to);
}

Result<TimeWindow> window_of(const TimeArgs& args, std::span<const HistoryTimes> traces) {
  std::vector<HistoryTimes> recorded;
  std::ranges::copy_if(traces, std::back_inserter(recorded), &HistoryTimes::has_records);
  if (args.empty() || recorded.empty()) return TimeWindow();
  return Resolver(args, recorded).window();
}

Result<> select_times(const TimeArgs& args, History& history) {
  if (args.empty() || history.traces().empty()) return {};
  std::vector<HistoryTimes> times;
  times.reserve(history.traces().size());
  for (size_t i = 0; i < history.traces().size(); ++i)
    times.push_back({.extent = history.extent(i),
                     .clock_offset_ns = history.traces()[i].manifest().origin.clock_offset_ns});
  auto window = window_of(args, times);
  if (!window) return propagate(window);
  history.set_window(*window);
  return {};
}

Result<std::optional<double>> stream_seconds(std::optional<double> duration_s,
                                             const TimeArgs& args) {
  const auto offset_ns = boottime_offset_ns();
  if (!offset_ns && args.until && args.until->kind == TimeKind::boot)
    return fail(ExitCode::unavailable,
                "--until {}: the kernel does not say by how much the time namespace of ktracectl "
                "moves the time since boot; give a wall clock time",
                args.until->text);
  const uint64_t boottime_of_events = boottime_ns() - static_cast<uint64_t>(offset_ns.value_or(0));
  return stream_seconds(duration_s, args, boottime_of_events, clock_ns(CLOCK_REALTIME));
}

namespace {

// The first such time of day that is to come.
uint64_t next_of_day(uint64_t now, uint64_t of_day) {
  for (const int days : {0, 1})
    for (const uint64_t time : local_times_of_day(now, days, of_day))
      if (time > now) return time;
  return local_times_of_day(now, 2, of_day).front();  // clocks are set forward over it
}

}  // namespace

Result<std::optional<double>> stream_seconds(std::optional<double> duration_s, const TimeArgs& args,
                                             uint64_t now_boot_ns, uint64_t now_realtime_ns) {
  if (!args.until) return duration_s;
  const TimePoint& until = *args.until;
  uint64_t now = now_realtime_ns, end = until.ns;
  switch (until.kind) {
    case TimeKind::boot:
      now = now_boot_ns;
      break;
    case TimeKind::of_day:
      end = next_of_day(now, until.ns);
      break;
    case TimeKind::before_end:
      end = 0;
      break;
    case TimeKind::wall:
      break;
  }
  if (end <= now)
    return fail(ExitCode::usage, "--until {}: a stream ends at a time that is to come", until.text);
  const double seconds = in_seconds_of(end - now);
  return std::optional(std::min(duration_s.value_or(seconds), seconds));
}

}  // namespace ktraced
