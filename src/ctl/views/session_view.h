// SPDX-License-Identifier: BSD-2-Clause
// Sessions as text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "ctl/terminal/terminal.h"

namespace ktraced {

// The answer to `session.list`, one line per session.
[[nodiscard]] std::string session_list_view(const nlohmann::json& answer, const Colours& colours);
// The answer to `session.show`: what the session asks for, its rings, and its counts by event.
[[nodiscard]] std::string session_view(const nlohmann::json& session, const Colours& colours);
// A short table of the sessions in an answer to `status`.
[[nodiscard]] std::string session_summary(const nlohmann::json& sessions, const Colours& colours);

}  // namespace ktraced
