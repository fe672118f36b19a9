// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/input/report_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ctl/input/json_access.h"
#include "ctl/input/report_text.h"

namespace ktraced {

void add_facts(nlohmann::json& report, const ReportFacts& facts) {
  report["window"] = {{"begin_ns", facts.begin_ns},
                      {"end_ns", facts.end_ns},
                      {"seconds", in_seconds(facts.end_ns - facts.begin_ns)}};
  report["sources"] = facts.sources;
  report["caveats"] = facts.caveats;
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
