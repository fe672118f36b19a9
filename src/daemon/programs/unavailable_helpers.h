// SPDX-License-Identifier: BSD-2-Clause
// Helper programs, which belong to no event, that the kernel has refused.
#pragma once

#include <string>
#include <vector>

#include "daemon/programs/availability.h"

namespace ktraced {

struct UnavailableHelper {
  std::string program;
  std::string reason;  // why it is not loaded or not attached
  std::string effect;  // what users lack meanwhile: a clause
};

// The programs that are not available, of those that track names and threads and of the catchers of
// `events`, the names of built-in events. The catcher of an event that is not available itself is
// left out.
[[nodiscard]] std::vector<UnavailableHelper> unavailable_helpers(
    const Availability& availability, const std::vector<std::string>& events);

}  // namespace ktraced
