// SPDX-License-Identifier: BSD-2-Clause
// Decides which sessions record which events with stacks.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/programs/program_attacher.h"
#include "daemon/sessions/session_set.h"
#include "kernel/stacks/stack_programs.h"

namespace ktraced {

// A session that has asked for the stacks of an event records it by the program for stacks, where
// the kernel accepts that; any other session by the first program of the event. So a session that
// comes or goes does not change what another one records. Belongs to the main thread.
class StackHooks {
 public:
  // Sessions by bits, for each event.
  using SessionsByEvent = std::map<std::string, uint32_t>;

  // `programs` must outlive this. `ways`: the words of events, in which an earlier daemon may have
  // left sessions.
  StackHooks(StackPrograms& programs, const Schema& schema,
             std::span<const u32, EVENT_ID_MAX> ways);

  // Sets what programs read of the configuration at each hit, from now on, and the period of
  // samples.
  void configure(const Config& config, const Schema& schema, struct control& control);
  // Frames of a stack of a process, and of the kernel, at most.
  [[nodiscard]] uint32_t depth() const { return depth_; }
  [[nodiscard]] uint32_t kernel_depth() const { return programs_.kernel_depth(); }
  // Memory that the programs use for stacks, in bytes.
  [[nodiscard]] uint64_t memory() const { return programs_.memory(); }

  // Decides again for all sessions and events. Returns those that have recorded the event before,
  // and record it by its other program from now on.
  SessionsByEvent decide(const SessionSet& sessions);
  // The sessions that record an event with stacks.
  [[nodiscard]] uint32_t sessions(const std::string& event) const;
  // Is the program for stacks of an event attached?
  [[nodiscard]] bool attached(const std::string& event) const { return programs_.attached(event); }
  // Event → why the kernel does not take its program for stacks: then it is recorded without.
  [[nodiscard]] const std::map<std::string, std::string>& refused() const { return refused_; }

  // How samples are taken, for the trace config: {"period":"10ms","kernel":true,"user":true,
  // "cpus":[0,1]}.
  [[nodiscard]] nlohmann::json describe_sampling() const;

  // The programs that are attached or must be.
  [[nodiscard]] std::vector<ProgramNeed> needs() const;
  // Attaches it. Failures are not errors, because the sessions then use the first program; only
  // samples have none: fails as StackPrograms::attach().
  Result<> attach(const std::string& event);
  // True, once, if attaching has failed since the last call: decide() then decides differently.
  [[nodiscard]] bool take_failed();
  // Clears all failures: the next decide() tries again what has failed before.
  void clear_failures() { refused_.clear(); }

 private:
  StackPrograms& programs_;
  SessionsByEvent with_stacks_, recording_;     // of all events that can have stacks
  std::map<std::string, std::string> refused_;  // event → reason
  bool failed_ = false;
  uint32_t depth_ = 0;
  SamplingConfig sampling_;
};

}  // namespace ktraced
