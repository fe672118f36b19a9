// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/events/configured_tracepoints.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "kernel/tracepoints/tracefs.h"

namespace ktraced {

void ConfiguredTracepoints::set_patterns(std::vector<std::string> patterns,
                                         const std::set<std::string>& existing) {
  patterns_ = std::move(patterns);
  existing_ = matching(existing);
}

std::set<std::string> ConfiguredTracepoints::added(const std::set<std::string>& existing) {
  const auto before = std::exchange(existing_, matching(existing));
  std::set<std::string> added;
  std::ranges::set_difference(existing_, before, std::inserter(added, added.end()));
  return added;
}

std::set<std::string> ConfiguredTracepoints::matching(const std::set<std::string>& names) const {
  std::set<std::string> matching;
  std::ranges::copy_if(
      names, std::inserter(matching, matching.end()), [&](const std::string& name) {
        return std::ranges::any_of(
            patterns_, [&](const std::string& pattern) { return matches_pattern(name, pattern); });
      });
  return matching;
}

}  // namespace ktraced
