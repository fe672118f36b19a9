// SPDX-License-Identifier: BSD-2-Clause
// What a subscription asks of its session.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ctl/selection/selection.h"

namespace ktraced {

// The options of a session beside its SelectionArgs, as typed.
struct SessionArgs {
  std::vector<uint32_t> follow;       // processes with all their descendants
  std::vector<std::string> cgroups;   // paths of control groups
  std::vector<std::string> syscalls;  // names of system calls
  std::vector<std::string> stacks;    // events with their stacks
  std::optional<uint64_t> buffer_kb;  // of each of its rings
  std::string name;                   // empty: the daemon chooses one
  bool all = false;                   // all tasks; none is excluded
};

// The events of a session that shows what is selected: those that are named; else, of calls that
// fail, `sys_exit`, and of selected calls `sys_enter` and `sys_exit`. Empty: the recorder's.
[[nodiscard]] std::vector<std::string> session_events(const SelectionArgs& selection,
                                                      const SessionArgs& session);

// True if the session has a filter of its own.
[[nodiscard]] bool has_own_filter(const SelectionArgs& selection, const SessionArgs& session);

// The parameters of stream.subscribe. What is not given is the recorder's, whose filter is
// `recorder_filter` as of filter.show: the events; the tasks; the excluded tasks; the system calls.
// Events that are named only for their stacks are among the events, if any are named.
[[nodiscard]] nlohmann::json session_request(const SelectionArgs& selection,
                                             const SessionArgs& session,
                                             const nlohmann::json& recorder_filter);

}  // namespace ktraced
