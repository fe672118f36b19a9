// SPDX-License-Identifier: BSD-2-Clause
// What the tracer reports, as JSON (docs/protocol.md).
#pragma once

#include <nlohmann/json.hpp>

#include "daemon/capture/tracer.h"

namespace ktraced {

// The tracer's part of `status`.
[[nodiscard]] nlohmann::json status_json(const Tracer& tracer);

// For `filter.show` and `status`: the owner of the temporary filter and the lasting filter; null
// if there is none.
[[nodiscard]] nlohmann::json temporary_filter_json(const FilterControl& filter);

// One entry of `probe.list` and of the answer of `probe.add`.
[[nodiscard]] nlohmann::json probe_json(const Tracer& tracer, const ProbeInfo& probe);
// {"probes":[…]}, and "reason" if this kernel does not support probes.
[[nodiscard]] nlohmann::json probes_json(const Tracer& tracer);

// One entry of `events.list`.
[[nodiscard]] nlohmann::json listed_event_json(const ListedEvent& listed);

}  // namespace ktraced
