// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/input/report_input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "ctl/input/json_access.h"
#include "ctl/input/report_text.h"
#include "ctl/selection/time_selection.h"

namespace ktraced {

void add_facts(nlohmann::json& report, const ReportFacts& facts) {
  report["window"] = {{"begin_ns", facts.begin_ns},
                      {"end_ns", facts.end_ns},
                      {"seconds", in_seconds(facts.end_ns - facts.begin_ns)}};
  if (facts.clock_offset_ns != 0) report["window"]["clock_offset_ns"] = facts.clock_offset_ns;
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

}  // namespace

std::string facts_text(const nlohmann::json& report) {
  std::string out;
  for (const nlohmann::json& source : list_at(report, "sources"))
    out += fmt::format("{}: {} of {}, {}\n", printable(text_at(source, "path")),
                       text_at(source, "kind"), printable(text_at(source, "host")),
                       flag_at(source, "complete")
                           ? "complete"
                           : printable(incompleteness(texts_at(source, "incomplete_because"))));
  const nlohmann::json& window = member(report, "window");
  const TimeWindow extent{.begin_ns = number_at(window, "begin_ns"),
                          .end_ns = number_at(window, "end_ns")};
  return out + fmt::format("{:.3f} s, from {}\n\n", in_seconds(extent.end_ns - extent.begin_ns),
                           times_text({.extent = extent,
                                       .clock_offset_ns = static_cast<int64_t>(
                                           number_at(window, "clock_offset_ns"))}));
}

void ReportFacts::caveat(std::string why, uint64_t until_ns) {
  whole_since_ns = std::max(whole_since_ns, until_ns);
  if (std::ranges::find(caveats, why) == caveats.end()) caveats.push_back(std::move(why));
}

void caveat_missed(const std::vector<std::string>& needed, const nlohmann::json& missed,
                   ReportFacts& facts) {
  for (const std::string& event : needed)
    if (const uint64_t skipped = number_at(missed, event); skipped != 0)
      facts.caveat(fmt::format("the kernel skipped {} hits of {}", skipped, event));
}

}  // namespace ktraced
