// SPDX-License-Identifier: BSD-2-Clause
// The output of `ktracectl show` for trace directories.
#pragma once

#include <vector>

#include "harness/client/daemon.h"

namespace ktraced::live {

// The lines of `show --format json`, and its messages.
struct Shown {
  std::vector<json> lines;
  Finished finished;
};

// `words`: directories and options.
[[nodiscard]] Shown show(const Command& words);

}  // namespace ktraced::live
