// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/programs/availability.h"

namespace ktraced {

const std::string* Availability::why_not(const std::string& event) const {
  if (auto reason = unsupported_.find(event); reason != unsupported_.end()) return &reason->second;
  return failure(event);
}

const std::string* Availability::failure(const std::string& event) const {
  const auto reason = failures_.find(event);
  return reason == failures_.end() ? nullptr : &reason->second;
}

bool Availability::note_failure(const std::string& event, const std::string& reason) {
  return failures_.emplace(event, reason).second;
}

}  // namespace ktraced
