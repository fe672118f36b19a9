// SPDX-License-Identifier: BSD-2-Clause
// Which events there can be, and what to do about those that are needed.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "trace/history.h"

namespace ktraced {

using EventNames = std::set<std::string>;

// Enabled at any time by `config`, as manifests have it, or by the status of a daemon; nothing if
// it does not say.
[[nodiscard]] std::optional<EventNames> traced_events(const nlohmann::json& config);
// Likewise of traces; what has records was traced in any case.
[[nodiscard]] std::optional<EventNames> traced_events(const TraceReader& trace);
[[nodiscard]] std::optional<EventNames> traced_events(const History& history);

// The events that a report or a form of text is made of.
struct EventNeed {
  std::string_view who;                      // "report sched"
  std::span<const std::string_view> events;  // all of these, or any if `any`
  bool any = false;
  std::string_view enable;  // of any: the events and groups that turn them on
};

enum class Traced { in_the_past, now };

// Nothing if there is what is needed; else a sentence that says what is not, and how it is turned
// on.
[[nodiscard]] std::optional<std::string> missing_events(const EventNeed& need,
                                                        const EventNames& traced, Traced when);

}  // namespace ktraced
