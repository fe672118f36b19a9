// SPDX-License-Identifier: BSD-2-Clause
// Distributions of times in reports.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/reports/histogram.h"
#include "base/text/json_access.h"
#include "ctl/terminal/bars.h"
#include "ctl/terminal/table.h"

namespace ktraced {

// {"count","total_ns","mean_ns","p50_ns","p90_ns","p99_ns","max_ns"}
[[nodiscard]] inline nlohmann::json latency_json(const Histogram& ns) {
  return {{"count", ns.count()},
          {"total_ns", ns.sum()},
          {"mean_ns", ns.count() == 0 ? 0 : ns.sum() / ns.count()},
          {"p50_ns", ns.percentile(50)},
          {"p90_ns", ns.percentile(90)},
          {"p99_ns", ns.percentile(99)},
          {"max_ns", ns.max()}};
}

// [{"from_ns","count"}]: the number of values in [from_ns, 2 * from_ns).
[[nodiscard]] inline nlohmann::json histogram_json(const Histogram& ns) {
  nlohmann::json bins = nlohmann::json::array();
  const auto powers = ns.by_power_of_two();
  for (size_t power = 0; power < powers.size(); ++power)
    if (powers[power] != 0 || !bins.empty())
      bins.push_back(
          {{"from_ns", power == 0 ? 0 : uint64_t{1} << power}, {"count", powers[power]}});
  return bins;
}

// The output of histogram_json() as bars.
[[nodiscard]] inline std::string histogram_text(const nlohmann::json& bins, bool fine) {
  Bars bars;
  for (const nlohmann::json& bin : bins)
    bars.add(duration_text(number_at(bin, "from_ns")), number_at(bin, "count"));
  return bars.text(fine);
}

// The percentiles in a latency_json(): "  50 % up to 21 us, 90 % up to …" as a line.
[[nodiscard]] inline std::string percentiles_text(const nlohmann::json& latency) {
  return fmt::format(
      "  50 % up to {}, 90 % up to {}, 99 % up to {}, all up to {}\n",
      duration_text(number_at(latency, "p50_ns")), duration_text(number_at(latency, "p90_ns")),
      duration_text(number_at(latency, "p99_ns")), duration_text(number_at(latency, "max_ns")));
}

// The "delay" of a report and its "histogram"; nothing if no thread has waited.
[[nodiscard]] inline std::string delays_text(const nlohmann::json& report, const Colours& colours) {
  if (list_at(report, "histogram").empty()) return "";
  return colours.bold("FROM BEING WOKEN TO RUNNING, FROM") + "\n" +
         histogram_text(member(report, "histogram"), colours.on()) +
         percentiles_text(member(report, "delay")) + "\n";
}

}  // namespace ktraced
