// SPDX-License-Identifier: BSD-2-Clause
// The tracepoints that the configuration contains, as modules come and go.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace ktraced {

// Matches the patterns of events.tracepoints with the tracepoints that exist.
class ConfiguredTracepoints {
 public:
  // Replaces the patterns. `existing`: the names of all tracepoints.
  void set_patterns(std::vector<std::string> patterns, const std::set<std::string>& existing);
  // Returns those that match and did not exist at the last call.
  std::set<std::string> added(const std::set<std::string>& existing);
  // True if the configuration contains no tracepoints.
  [[nodiscard]] bool empty() const { return patterns_.empty(); }

 private:
  [[nodiscard]] std::set<std::string> matching(const std::set<std::string>& names) const;

  std::vector<std::string> patterns_;
  std::set<std::string> existing_;  // as of the last call, those that match
};

}  // namespace ktraced
