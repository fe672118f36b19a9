// SPDX-License-Identifier: BSD-2-Clause
// The programs that note when system calls begin.
#pragma once

#include <string>
#include <vector>

#include "daemon/programs/availability.h"
#include "daemon/programs/program_attacher.h"
#include "kernel/catchers/catchers.h"
#include "kernel/programs/bpf_object.h"

namespace ktraced {

// The event sys_completed takes its durations from times that other programs note. A time is valid
// only if all of these programs have been attached since the call began: otherwise a call could
// take the time of an earlier one. Its state is in the kernel. Belongs to the main thread.
class EntryTimes {
 public:
  // `recorded`: does any session record the event? The others must outlive this.
  EntryTimes(const BpfObject& object, const Catchers& catchers, const Availability& availability,
             bool recorded)
      : object_(object), catchers_(catchers), availability_(availability), recorded_(recorded) {}

  // The event that needs entry times.
  static constexpr const char* kEvent = "sys_completed";
  // Names of the programs that have no event.
  [[nodiscard]] static std::vector<std::string> helpers();
  [[nodiscard]] std::vector<ProgramNeed> needs() const;

  // To be called before programs are attached or detached.
  void begin() const;
  // To be called when no program remains to be attached.
  void finish() const;

 private:
  [[nodiscard]] bool all_attached() const;

  const BpfObject& object_;
  const Catchers& catchers_;
  const Availability& availability_;
  bool recorded_;
};

}  // namespace ktraced
