// SPDX-License-Identifier: BSD-2-Clause
// Decides where the system calls of each session are recorded.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/programs/program_attacher.h"
#include "daemon/sessions/session_set.h"
#include "kernel/calls/call_functions.h"
#include "kernel/calls/call_programs.h"

namespace ktraced {

// A session that selects a few calls records them at the functions of these calls, where the kernel
// allows it, so that other calls cost nothing; any other session records at the tracepoints
// sys_enter and sys_exit. What one session selects decides about that session only: a session that
// comes or goes does not change where another one records. Belongs to the main thread.
class CallHooks {
 public:
  // Must outlive this.
  explicit CallHooks(CallPrograms& programs) : programs_(programs) {}

  // Decides again for all sessions. True if one that has recorded calls before records them
  // elsewhere from now on.
  bool decide(const SessionSet& sessions);
  // The sessions that record at functions, by bits.
  [[nodiscard]] uint32_t sessions() const;
  // True if all programs of such a session are attached.
  [[nodiscard]] bool attached(const Session& session) const;
  // Why a session that selects calls does not record at functions; nothing if it does, or if it
  // does not record calls.
  [[nodiscard]] std::optional<std::string> why_not(const Session& session) const;

  // The programs on functions that are attached or must be.
  [[nodiscard]] std::vector<ProgramNeed> needs() const;
  // Attaches it. Failures are not errors: the sessions then use the tracepoints.
  void attach(const std::string& function);
  // True, once, if attaching has failed since the last call: decide() then decides differently.
  [[nodiscard]] bool take_failed();
  // Clears all failures: the next decide() tries again what has failed before.
  void clear_failures();

 private:
  using Functions = std::set<std::string>;
  [[nodiscard]] Result<Functions> functions_for(const std::vector<std::string>& calls);
  void note_reason(const Session& session, const std::string& reason,
                   const std::map<uint32_t, std::string>& before);

  CallPrograms& programs_;
  std::optional<CallFunctions> functions_;      // read when first needed
  std::map<uint32_t, Functions> by_session_;    // of those that record at functions
  std::map<uint32_t, std::string> why_not_;     // of the others that select calls
  std::string unusable_because_;                // empty: nothing speaks against it
  std::map<std::string, std::string> refused_;  // function → reason
  uint32_t recording_ = 0;                      // sessions that record calls, by bits
  bool tried_ = false;
  bool failed_ = false;
};

}  // namespace ktraced
