// SPDX-License-Identifier: BSD-2-Clause
// The trace config: which events of which tasks a trace contains.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/metadata/name_table.h"

namespace ktraced {

// The active filter, as far as a reader can evaluate it.
class RecordedFilter {
 public:
  RecordedFilter() = default;
  // Reads the format of the daemon and of manifests. Anything else is a filter that accepts
  // everything.
  static RecordedFilter of(const nlohmann::json& filter);

  // True if some tasks are rejected.
  [[nodiscard]] bool any() const { return include_.any() || exclude_.any(); }
  // True if thread `tid` matches. `task` is what is known of it; null if unknown. Nothing if the
  // trace cannot tell, because it contains neither control groups nor parents.
  [[nodiscard]] std::optional<bool> matches(uint32_t tid, const TaskName* task) const;
  // True if a thread matches that a matching thread has created, so that it belongs to the same
  // followed trees. Arguments and result are those of matches().
  [[nodiscard]] std::optional<bool> child_matches(uint32_t tid, const TaskName* task) const;
  // True if an event about two threads, of which one is rejected, proves that the other one
  // matches.
  [[nodiscard]] bool one_of_two_matches() const { return !include_.any() || !exclude_.any(); }

  bool operator==(const RecordedFilter&) const = default;

 private:
  // The conditions that are set. A task must match all of them (include) or none (exclude).
  struct Side {
    std::set<uint32_t> pids, uids, follow;
    std::vector<std::string> comms;
    std::vector<std::string> cgroups;

    static Side of(const nlohmann::json& side);
    [[nodiscard]] bool any() const;
    // The result of each condition that is set. `in_tree`: is the thread in a followed tree, if
    // that is known from elsewhere?
    [[nodiscard]] std::vector<std::optional<bool>> matches(
        uint32_t tid, const TaskName* task, std::optional<bool> in_tree = std::nullopt) const;
    bool operator==(const Side&) const = default;
  };

  [[nodiscard]] static std::optional<bool> matches(
      const std::vector<std::optional<bool>>& included,
      const std::vector<std::optional<bool>>& excluded);

  Side include_, exclude_;
};

// This event says of a call what sys_enter and sys_exit do, if the call returns.
inline constexpr std::string_view kCompletedEvent = "sys_completed";

// Is there an event that says what `event` does? `has`: is there one of that name?
[[nodiscard]] bool is_said(std::string_view event, auto&& has) {
  const bool in_completed = event == "sys_enter" || event == "sys_exit";
  return has(event) || (in_completed && has(kCompletedEvent));
}

// The trace config from some time on.
struct TraceConfig {
  bool running = true;                          // not paused
  std::optional<std::set<std::string>> events;  // enabled; nothing: unknown
  std::set<std::string> syscalls;               // only these; empty: all
  RecordedFilter filter;
  // Hits of these may be missing without a loss: the kernel may have skipped some. A report on a
  // stream learns only at its end whether it has.
  std::set<std::string> missed;

  // From the configuration in a manifest, or the status of a daemon. Missing members mean no limit.
  // Without `missed`.
  static TraceConfig of(const nlohmann::json& config);
  // True if `event` is enabled, or if that is unknown.
  [[nodiscard]] bool has(std::string_view event) const {
    return running && (!events || events->contains(std::string(event)));
  }
  // True if `event`, or an event that says what it does, is enabled, or if that is unknown.
  [[nodiscard]] bool covers(std::string_view event) const {
    return is_said(event, [this](std::string_view name) { return has(name); });
  }
  // True if calls are recorded only when they return.
  [[nodiscard]] bool only_completed() const {
    return running && events && !has("sys_enter") && has(kCompletedEvent);
  }
  // True if both configs are equal with respect to `events`, names of events.
  [[nodiscard]] bool same_for(const TraceConfig& other,
                              std::span<const std::string_view> events) const;
};

}  // namespace ktraced
