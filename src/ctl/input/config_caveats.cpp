// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/input/config_caveats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "base/text/json_access.h"
#include "ctl/input/report_text.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr size_t kTimesShown = 3;  // in one caveat; there may be thousands

// The parts of a window in which a condition holds.
class Times {
 public:
  Times(std::span<const ConfigSpan> spans,
        const std::function<bool(const TraceConfig& config)>& holds) {
    begin_ = spans.front().begin_ns;
    end_ = spans.back().end_ns;
    for (const ConfigSpan& span : spans) {
      if (!holds(span.config)) continue;
      if (!times_.empty() && times_.back().second == span.begin_ns)
        times_.back().second = span.end_ns;
      else
        times_.emplace_back(span.begin_ns, span.end_ns);
    }
  }
  [[nodiscard]] bool none() const { return times_.empty(); }
  [[nodiscard]] uint64_t until_ns() const {
    return times_.back().second >= end_ ? UINT64_MAX : times_.back().second;
  }
  // " from +1.000 s to +2.500 s"; empty if it holds all the time.
  [[nodiscard]] std::string text() const {
    if (times_.size() == 1 && times_[0].first <= begin_ && times_[0].second >= end_) return "";
    std::string out;
    for (size_t i = 0; i < std::min(times_.size(), kTimesShown); ++i)
      out += (i == 0 ? " " : ", ") + text(times_[i]);
    if (times_.size() > kTimesShown)
      out += fmt::format(" and {} more times", times_.size() - kTimesShown);
    return out;
  }

 private:
  [[nodiscard]] std::string at(uint64_t ns) const {
    return fmt::format("+{:.3f} s", in_seconds(ns - std::min(ns, begin_)));
  }
  [[nodiscard]] std::string text(const std::pair<uint64_t, uint64_t>& time) const {
    if (time.first <= begin_) return "up to " + at(time.second);
    if (time.second >= end_) return fmt::format("from {} on", at(time.first));
    return fmt::format("from {} to {}", at(time.first), at(time.second));
  }

  std::vector<std::pair<uint64_t, uint64_t>> times_;
  uint64_t begin_ = 0, end_ = 0;
};

// The times when the filter was replaced by another one.
std::vector<uint64_t> filter_changes(std::span<const ConfigSpan> spans) {
  std::vector<uint64_t> times;
  for (size_t i = 1; i < spans.size(); ++i) {
    const RecordedFilter &before = spans[i - 1].config.filter, &after = spans[i].config.filter;
    if (before.any() && after.any() && before != after) times.push_back(spans[i].begin_ns);
  }
  return times;
}

}  // namespace

std::vector<ConfigSpan> spans_of(const json& config, uint64_t begin_ns, uint64_t end_ns) {
  std::vector<ConfigSpan> spans{
      {.begin_ns = begin_ns, .end_ns = end_ns, .config = TraceConfig::of(config)}};
  for (const json& change : list_at(config, "changes")) {
    const uint64_t ns = std::min(number_at(change, "ns"), end_ns);
    // Ignores changes before the window.
    if (ns > spans.back().begin_ns) {
      spans.back().end_ns = ns;
      spans.push_back({.begin_ns = ns, .end_ns = end_ns, .config = {}});
    }
    spans.back().config = TraceConfig::of(member(change, "config"));
  }
  return spans;
}

std::vector<ConfigCaveat> config_caveats(std::span<const ConfigSpan> spans,
                                         std::span<const std::string> needed, Needed of_each) {
  const bool records = of_each == Needed::records;
  std::vector<ConfigCaveat> caveats;
  if (spans.empty()) return caveats;
  auto add = [&](const Times& times, auto&& sentence) {
    if (!times.none())
      caveats.push_back({.text = sentence(times.text()), .until_ns = times.until_ns()});
  };
  add(Times(spans, [](const TraceConfig& config) { return !config.running; }),
      [](const std::string& when) { return "tracing was paused" + when; });
  add(Times(spans, [](const TraceConfig& config) { return config.filter.any(); }),
      [](const std::string& when) {
        return fmt::format("a filter was set{}: what other tasks did is not in the trace", when);
      });
  if (const auto changed = filter_changes(spans); !changed.empty())
    caveats.push_back(
        {.text = fmt::format(
             "the filter was changed {}",
             changed.size() == 1
                 ? fmt::format("at +{:.3f} s", in_seconds(changed[0] - spans.front().begin_ns))
                 : fmt::format("{} times", changed.size())),
         .until_ns = changed.back()});
  for (const std::string& event : needed) {
    // While tracing is paused nothing is traced; another caveat reports the pause.
    add(Times(spans,
              [&](const TraceConfig& config) {
                return config.running && !(records ? config.has(event) : config.covers(event));
              }),
        [&](const std::string& when) { return fmt::format("{} was not traced{}", event, when); });
    if (event == "sys_enter" && !records)
      add(Times(spans, [](const TraceConfig& config) { return config.only_completed(); }),
          [](const std::string& when) {
            return fmt::format(
                "system calls were recorded as they returned{}: those that did not return are not "
                "in the trace",
                when);
          });
    if (event != "sys_exit") continue;
    add(Times(spans, [](const TraceConfig& config) { return !config.syscalls.empty(); }),
        [](const std::string& when) {
          return fmt::format("only some system calls were traced{}", when);
        });
  }
  return caveats;
}

}  // namespace ktraced
