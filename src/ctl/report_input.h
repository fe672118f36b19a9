// SPDX-License-Identifier: BSD-2-Clause
// Where the events of reports come from.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "decoders/analysis.h"

namespace ktraced {

// What a report says beside its numbers: of which time it is, and what is not in it.
struct ReportFacts {
  uint64_t begin_ns = 0;  // window, CLOCK_BOOTTIME
  uint64_t end_ns = 0;
  // From then on there is a record of every hit, except for those that are told as lost where
  // they happened; UINT64_MAX: what is known is not enough to say so of any time.
  uint64_t whole_since_ns = 0;
  std::vector<std::string> doubts;  // why not from the beginning, each as a sentence
  nlohmann::json sources;           // [{"path","kind","host","complete","incomplete_because"}]
  nlohmann::json accounts;          // event → {"missed","overwritten"} if any

  // Says why there is not every hit before `ns`; UINT64_MAX: up to the end.
  void doubt(std::string why, uint64_t until_ns = UINT64_MAX);
};

// Adds "window", "sources" and "doubts" to a report.
void add_facts(nlohmann::json& report, const ReportFacts& facts);

// Traces, or a live stream.
class ReportInput {
 public:
  virtual ~ReportInput() = default;
  // Gives all events to `analysis`, and tells it what was traced. Where a CPU's history begins in
  // the middle, a loss with count 0 is told. Fails if there is nothing to report.
  virtual Result<> read(Analysis& analysis) = 0;
  // After the last event, for an analysis that depends on every hit of the events in `needed`.
  [[nodiscard]] virtual ReportFacts facts(const std::vector<std::string>& needed) = 0;
  // After the last event: the events that were traced at any time; nothing if that is not known.
  [[nodiscard]] virtual std::optional<std::set<std::string>> traced() const = 0;
  // Function and offset at a kernel address; empty if it is not known. Valid until the next call.
  virtual std::string_view symbol(uint64_t address) = 0;
  // What could not be read, after the last event.
  [[nodiscard]] virtual Result<> verdict() const = 0;
};

// Doubts the hits of the events `needed` that the kernel has skipped: `missed`, by event.
void doubt_missed(const std::vector<std::string>& needed, const nlohmann::json& missed,
                  ReportFacts& facts);

}  // namespace ktraced
