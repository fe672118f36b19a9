// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/input/report_input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/text/json_access.h"
#include "ctl/input/report_text.h"
#include "ctl/selection/time_selection.h"

namespace ktraced {

using nlohmann::json;

void add_facts(json& report, const ReportFacts& facts) {
  report["window"] = {{"begin_ns", facts.begin_ns}, {"end_ns", facts.end_ns}};
  json& window = report["window"];
  for (const TimeWindow& gap : facts.gaps)
    window["gaps"].push_back({{"begin_ns", gap.begin_ns}, {"end_ns", gap.end_ns}});
  window["seconds"] = in_seconds(covered_ns(report));
  if (facts.begin_ns < facts.common_ns) window["common_ns"] = facts.common_ns;
  if (facts.begin_ns == facts.common_ns && facts.furthest_ns < facts.begin_ns)
    window["furthest_ns"] = facts.furthest_ns;
  if (const int64_t offset = offset_at(facts.clocks, facts.end_ns); offset != 0)
    window["clock_offset_ns"] = offset;
  if (facts.clocks.size() > 1)
    for (const ClockOffset& clock : facts.clocks)
      window["clocks"].push_back(
          {{"since_ns", clock.since_ns}, {"clock_offset_ns", clock.offset_ns}});
  report["sources"] = facts.sources;
  report["caveats"] = facts.caveats;
}

namespace {

// The first reasons why a trace is incomplete; `ktracectl --json` has all of them.
std::string incompleteness(const std::vector<std::string>& reasons) {
  constexpr size_t kShown = 3;
  const size_t shown = std::min(reasons.size(), kShown);
  std::string text = fmt::format(
      "incomplete: {}",
      fmt::join(reasons.begin(), reasons.begin() + static_cast<ptrdiff_t>(shown), "; "));
  if (shown < reasons.size()) text += fmt::format("; and {} more", reasons.size() - shown);
  return text;
}

uint64_t length_of(const json& times) {
  return number_at(times, "end_ns") - number_at(times, "begin_ns");
}

// Both ends of a gap are left out.
uint64_t gaps_ns(const json& window) {
  uint64_t sum = 0;
  for (const json& gap : list_at(window, "gaps")) sum += length_of(gap) + 1;
  return sum;
}

// "without 2.000 s that not all CPUs have, from 63.000000 to 65.000000".
std::string gaps_text(const json& window) {
  const json& gaps = list_at(window, "gaps");
  if (gaps.empty()) return "";
  const json& first = gaps.front();
  return fmt::format("without {:.3f} s that not all CPUs have, {}from {:.6f} to {:.6f}",
                     in_seconds(gaps_ns(window)),
                     gaps.size() == 1 ? "" : fmt::format("in {} gaps, the first ", gaps.size()),
                     in_seconds(number_at(first, "begin_ns")),
                     in_seconds(number_at(first, "end_ns")));
}

}  // namespace

uint64_t covered_ns(const json& report) {
  const json& window = member(report, "window");
  const uint64_t length = length_of(window);
  return length - std::min(length, gaps_ns(window));
}

std::vector<ClockOffset> clocks_of(const json& report) {
  const json& window = member(report, "window");
  std::vector<ClockOffset> clocks;
  for (const json& clock : list_at(window, "clocks"))
    clocks.push_back({.since_ns = number_at(clock, "since_ns"),
                      .offset_ns = static_cast<int64_t>(number_at(clock, "clock_offset_ns"))});
  if (clocks.empty())
    clocks.push_back({.offset_ns = static_cast<int64_t>(number_at(window, "clock_offset_ns"))});
  return clocks;
}

std::string window_text(const json& report) {
  const json& window = member(report, "window");
  const TimeWindow extent{.begin_ns = number_at(window, "begin_ns"),
                          .end_ns = number_at(window, "end_ns")};
  const auto clocks = clocks_of(report);
  return fmt::format("{:.3f} s, from {}", in_seconds(covered_ns(report)),
                     times_text({extent, offset_at(clocks, extent.begin_ns)},
                                {extent, offset_at(clocks, extent.end_ns)}));
}

std::string reach_text(const json& report) {
  const json& window = member(report, "window");
  std::string text;
  if (window.contains("common_ns")) {
    text = fmt::format("not all CPUs have all of it: the last one begins at {:.6f}",
                       in_seconds(number_at(window, "common_ns")));
  } else if (window.contains("furthest_ns")) {
    const uint64_t furthest_ns = number_at(window, "furthest_ns");
    text = fmt::format("{}, from {:.6f}", furthest_text(furthest_ns, number_at(window, "end_ns")),
                       in_seconds(furthest_ns));
  }
  const std::string gaps = gaps_text(window);
  return text.empty() || gaps.empty() ? text + gaps : text + "; " + gaps;
}

std::string facts_text(const json& report) {
  std::string out;
  for (const json& source : list_at(report, "sources"))
    out += fmt::format("{}: {} of {}, {}\n", printable(text_at(source, "path")),
                       text_at(source, "kind"), printable(text_at(source, "host")),
                       flag_at(source, "complete")
                           ? "complete"
                           : printable(incompleteness(texts_at(source, "incomplete_because"))));
  out += window_text(report) + "\n";
  if (const std::string reach = reach_text(report); !reach.empty()) out += reach + "\n";
  return out + "\n";
}

void ReportFacts::caveat(std::string why, uint64_t until_ns) {
  whole_since_ns = std::max(whole_since_ns, until_ns);
  if (std::ranges::find(caveats, why) == caveats.end()) caveats.push_back(std::move(why));
}

void caveat_missed(const std::vector<std::string>& needed, const json& missed, ReportFacts& facts) {
  for (const std::string& event : needed)
    if (const uint64_t skipped = number_at(missed, event); skipped != 0)
      facts.caveat(fmt::format("the kernel skipped {} hits of {}", skipped, event));
}

}  // namespace ktraced
