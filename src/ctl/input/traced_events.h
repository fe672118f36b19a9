// SPDX-License-Identifier: BSD-2-Clause
// Which events were enabled, and a hint if needed ones were not.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "trace/merge/history.h"

namespace ktraced {

using EventNames = std::set<std::string>;

// The events that were enabled at any time, by `config` in the format of manifests, or by the
// status of a daemon. Nothing if unknown.
[[nodiscard]] std::optional<EventNames> traced_events(const nlohmann::json& config);
// The events that were enabled at any time of a trace or a history; those with records count as
// enabled. Nothing if unknown.
[[nodiscard]] std::optional<EventNames> traced_events(const TraceReader& trace);
[[nodiscard]] std::optional<EventNames> traced_events(const History& history);

// The events that a report or an output format uses.
struct EventNeed {
  std::string_view who;                      // "report sched"
  std::span<const std::string_view> events;  // all of these, or any if `any`
  bool any = false;
  std::string_view enable;  // of any: events and groups that enable them
};

enum class Traced { in_the_past, now };

// Nothing if the needed events were enabled. Otherwise a sentence that lists the missing ones and
// how to enable them.
[[nodiscard]] std::optional<std::string> missing_events(const EventNeed& need,
                                                        const EventNames& traced, Traced when);

}  // namespace ktraced
