// SPDX-License-Identifier: BSD-2-Clause
// What a trace holds of what happens: which events, and of whom.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/name_table.h"

namespace ktraced {

// The filter that was in force, as far as a reader can apply it again.
class TaskFilter {
 public:
  TaskFilter() = default;
  // As daemons and manifests describe it; what is no filter lets everything pass.
  static TaskFilter of(const nlohmann::json& filter);

  // Does it leave out what some tasks do?
  [[nodiscard]] bool any() const { return include_.any() || exclude_.any(); }
  // Does what thread `tid` does pass? `task` is what is known of it, null if nothing is. Nothing
  // if a trace does not tell: it knows neither control groups nor who is whose child.
  [[nodiscard]] std::optional<bool> passes(uint32_t tid, const TaskName* task) const;
  // The same of a thread that one has made that passes: of trees of processes it is in the same.
  [[nodiscard]] std::optional<bool> child_passes(uint32_t tid, const TaskName* task) const;
  // Does an event about two threads that is in the trace say that one passes if the other does
  // not?
  [[nodiscard]] bool one_of_two_passes() const { return !include_.any() || !exclude_.any(); }

  bool operator==(const TaskFilter&) const = default;

 private:
  // The kinds of values that are set; a value of each must match, or none may.
  struct Side {
    std::set<uint32_t> pids, uids, follow;
    std::vector<std::string> comms;
    std::vector<std::string> cgroups;

    static Side of(const nlohmann::json& side);
    [[nodiscard]] bool any() const;
    // Of each kind that is set. `in_tree`: is the thread in a followed tree, as far as that is
    // known otherwise?
    [[nodiscard]] std::vector<std::optional<bool>> matches(
        uint32_t tid, const TaskName* task, std::optional<bool> in_tree = std::nullopt) const;
    bool operator==(const Side&) const = default;
  };

  [[nodiscard]] static std::optional<bool> passes(const std::vector<std::optional<bool>>& included,
                                                  const std::vector<std::optional<bool>>& excluded);

  Side include_, exclude_;
};

// What is traced from some time on.
struct TraceScope {
  bool running = true;                          // not paused
  std::optional<std::set<std::string>> events;  // enabled; nothing: that is not known
  std::set<std::string> syscalls;               // only these; empty: all
  TaskFilter filter;

  // From the configuration in a manifest, or the status of a daemon; what is not there is not
  // limited.
  static TraceScope of(const nlohmann::json& config);
  // Is `event` traced, as far as that is known?
  [[nodiscard]] bool has(std::string_view event) const {
    return running && (!events || events->contains(std::string(event)));
  }
  // Is there no difference for who looks at `events`, names of events?
  [[nodiscard]] bool same_for(const TraceScope& other,
                              std::span<const std::string_view> events) const;
};

}  // namespace ktraced
