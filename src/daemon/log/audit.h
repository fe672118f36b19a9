// SPDX-License-Identifier: BSD-2-Clause
// Who has changed what: one line of the log for each privileged request.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "daemon/runtime/peer.h"

namespace ktraced {

// Logs an administrator's request before it is carried out, at every log.level, with the fields
// KTRACED_METHOD, KTRACED_UID and KTRACED_PID. Long parameters are cut.
void log_privileged(const Peer& peer, std::string_view method, const nlohmann::json& params);

}  // namespace ktraced
