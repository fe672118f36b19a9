// SPDX-License-Identifier: BSD-2-Clause
// The daemon's longer answers as readable text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "ctl/options.h"
#include "ctl/terminal.h"

namespace ktraced {

// The answer to `status`, with the details that `command` asks for.
[[nodiscard]] std::string status_view(const nlohmann::json& status, const StatusCommand& command,
                                      const Colours& colours);
// The answer to `events.list`, a line an event. `verbose`: its fields and print format too.
[[nodiscard]] std::string events_view(const nlohmann::json& answer, bool verbose,
                                      const Colours& colours);
// The answer to `events.enable` (`enabled`) or `events.disable`; many names are a count.
[[nodiscard]] std::string changed_events_view(const nlohmann::json& answer, bool enabled);

}  // namespace ktraced
