// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/programs/unavailable_helpers.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "kernel/catchers/catchers.h"

namespace ktraced {
namespace {

// What each does is in bpf/process.bpf.c and bpf/syscalls.bpf.c.
constexpr std::array<std::pair<const char*, const char*>, 10> kEffects{{
    {"child_born",
     "a child whose fork the kernel skips has no name and is not followed by filters"},
    {"exec_begins",
     "execveat, and what executes a program of another ABI, returns as the new ABI's execve"},
    {"user_changed",
     "a thread that changes its user has the new one in traces when a traced system call has done "
     "it, else from its next fork, exec or rename"},
    {"task_freed", "processes that have ended take the room of others that filters can follow"},
    {"cgroup_changed", "the control groups of threads that are moved are those from before"},
    {"cgroup_made", "new control groups have no path until a thread is moved to them"},
    {"cgroup_removed", "control groups that are removed take the room of others for paths"},
    {"note_entry", "completed system calls have no duration"},
    {"check_entry",
     "completed system calls have no duration if the kernel skipped their beginning"},
    {"check_names", "names of threads are read from /proc, which takes longer"},
}};

}  // namespace

std::vector<UnavailableHelper> unavailable_helpers(const Availability& availability,
                                                   const std::vector<std::string>& events) {
  std::vector<UnavailableHelper> helpers;
  for (const auto& [program, effect] : kEffects)
    if (const std::string* reason = availability.why_not(program))
      helpers.push_back({.program = program, .reason = *reason, .effect = effect});
  for (const std::string& event : events) {
    const std::string* reason = availability.why_not(Catchers::program(event));
    if (reason != nullptr && availability.supports(event))
      helpers.push_back({.program = Catchers::program(event),
                         .reason = *reason,
                         .effect = fmt::format("hits of {} may be missed", event)});
  }
  return helpers;
}

}  // namespace ktraced
