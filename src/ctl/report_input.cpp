#include "ctl/report_input.h"

#include <fmt/format.h>

#include <algorithm>

#include "ctl/json_access.h"

namespace ktraced {

using nlohmann::json;

void add_facts(json& report, const ReportFacts& facts) {
  report["window"] = {{"begin_ns", facts.begin_ns},
                      {"end_ns", facts.end_ns},
                      {"seconds", static_cast<double>(facts.end_ns - facts.begin_ns) / 1e9}};
  report["sources"] = facts.sources;
  report["doubts"] = facts.doubts;
}

bool has_filter(const json& filter) {
  for (const auto& [key, value] : filter.items()) {
    if (key.starts_with("syscall")) continue;  // which calls, not whose
    if (value.is_object() && has_filter(value)) return true;
    if (value.is_array() && !value.empty()) return true;
  }
  return false;
}

std::vector<std::string> general_doubts(const std::vector<std::string>& needed, const json& enabled,
                                        const json& missed, const json& filter) {
  std::vector<std::string> doubts;
  if (has_filter(filter))
    doubts.emplace_back("a filter was set: what other tasks did is not in the trace");
  for (const std::string& event : needed) {
    if (enabled.is_array() && std::ranges::find(enabled, json(event)) == enabled.end())
      doubts.push_back(fmt::format("{} was not traced", event));
    if (const uint64_t skipped = number_at(missed, event); skipped != 0)
      doubts.push_back(fmt::format("the kernel skipped {} hits of {}", skipped, event));
  }
  return doubts;
}

}  // namespace ktraced
