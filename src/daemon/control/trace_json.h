// SPDX-License-Identifier: BSD-2-Clause
// What the tracer reports, as JSON (docs/protocol.md).
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "daemon/capture/tracer.h"

namespace ktraced {

// The tracer's part of `status`.
[[nodiscard]] nlohmann::json status_json(const TracerParts& tracer);

// A session: who, since when, events, filter, rings and totals; with `counts` each event's.
[[nodiscard]] nlohmann::json session_json(const SessionStatus& status, bool counts);
[[nodiscard]] nlohmann::json sessions_json(const std::vector<SessionStatus>& sessions);

// One entry of `probe.list` and of the answer of `probe.add`.
[[nodiscard]] nlohmann::json probe_json(const TracerParts& tracer, const ProbeInfo& probe);
// {"probes":[…]}, and "reason" if this kernel does not support probes.
[[nodiscard]] nlohmann::json probes_json(const TracerParts& tracer);

// One entry of `events.list`.
[[nodiscard]] nlohmann::json listed_event_json(const ListedEvent& listed);

}  // namespace ktraced
