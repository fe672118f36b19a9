// SPDX-License-Identifier: BSD-2-Clause
// Who has changed what, and who reads the stream: one line of the log for each such request.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "daemon/runtime/peer.h"

namespace ktraced {

// Logs a request at every log.level, with the fields KTRACED_METHOD, KTRACED_UID and KTRACED_PID:
// that of an administrator before it is carried out, that of a reader when it succeeds, so that
// readers cannot flood the log. Long parameters are cut.
void log_request(const Peer& peer, std::string_view method, const nlohmann::json& params);

}  // namespace ktraced
