// SPDX-License-Identifier: BSD-2-Clause
// The daemon's longer answers as text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "ctl/input/options.h"
#include "ctl/terminal/terminal.h"

namespace ktraced {

// The answer to `status`, with the details that `command` selects.
[[nodiscard]] std::string status_view(const nlohmann::json& status, const StatusCommand& command,
                                      const Colours& colours);
// The answer to `status.overhead`, one line per program.
[[nodiscard]] std::string overhead_view(const nlohmann::json& overhead, const Colours& colours);
// The answer to `events.list`, one line per event. `verbose`: with fields and print format.
[[nodiscard]] std::string events_view(const nlohmann::json& answer, bool verbose,
                                      const Colours& colours);
// The answer to `events.enable` (`enabled`) or `events.disable`; many names are shown as a count.
[[nodiscard]] std::string changed_events_view(const nlohmann::json& answer, bool enabled);

}  // namespace ktraced
