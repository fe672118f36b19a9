// SPDX-License-Identifier: BSD-2-Clause
// What `ktracectl show` makes of trace directories.
#pragma once

#include <vector>

#include "harness/daemon.h"

namespace ktraced::live {

// The lines of `show --format json`, and everything it said about them.
struct Shown {
  std::vector<json> lines;
  Finished finished;
};

// `words`: directories and options.
[[nodiscard]] Shown show(const Command& words);

}  // namespace ktraced::live
