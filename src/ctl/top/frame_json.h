// SPDX-License-Identifier: BSD-2-Clause
// A frame as one line of JSON.
#pragma once

#include <string>

#include "ctl/top/layout.h"

namespace ktraced {

// {"view":…,"state":…,"rates":{…},"overhead":…,"rows":[{"event":…,"hits_per_s":…},…]}; the keys of
// rows are the titles of their columns.
[[nodiscard]] std::string frame_json(const TopFrame& frame, TopView view);

}  // namespace ktraced
