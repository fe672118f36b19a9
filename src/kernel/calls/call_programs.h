// SPDX-License-Identifier: BSD-2-Clause
// The programs on the functions of system calls.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "bpf/shared_state.h"
#include "kernel/pins/ledger.h"
#include "kernel/programs/bpf_object.h"
#include "kernel/programs/detaching_links.h"

namespace ktraced {

// Attaches copies of the programs of bpf/call.bpf.c to functions, by name. They record sys_enter
// and sys_exit for the sessions that the words CALL_ENTERED and CALL_RETURNED name. With a pinned
// BPF object, attachments outlive the daemon. Belongs to the main thread.
class CallPrograms {
 public:
  // Adopts the attachments of an earlier daemon, and sets what the programs must know of the calls.
  // `object` and `retired_misses`, that of the Ledger, must outlive this.
  CallPrograms(const BpfObject& object, LedgerCounts& retired_misses);

  // Attaching twice is no error. Fails with ExitCode::no_permission if the kernel allows no such
  // programs, or ExitCode::unavailable.
  Result<> attach(const std::string& function);
  void detach(const std::string& function);
  void detach_all();
  [[nodiscard]] bool attached(const std::string& function) const {
    return hooks_.contains(function);
  }
  // Names of all functions with attached programs.
  [[nodiscard]] std::vector<std::string> attached() const;
  // Is it detached but may still run? attach() waits until it does not.
  [[nodiscard]] bool detaching(const std::string& function) { return !detaching_.gone(function); }

  // Hits of sys_enter or sys_exit, by event id, that the kernel missed here; of other events 0.
  // Thread-safe.
  [[nodiscard]] uint64_t missed(uint16_t event) const;

  // Adds what the kernel has measured of the programs: "sys_enter at FUNCTION".
  void add_runs(RunsByProgram& runs) const;

 private:
  // A program on a function.
  struct Hook {
    uint16_t place = 0;  // CALL_ENTERED or CALL_RETURNED
    Fd program;
    Fd link;
  };
  using Hooks = std::vector<Hook>;

  void adopt(const std::string& function);
  Result<> pin(const std::string& function, const Hooks& hooks) const;
  void unpin(const std::string& function, const Hooks& hooks) const;

  const BpfObject& object_;
  mutable std::mutex mutex_;
  std::map<std::string, Hooks> hooks_;  // by function; changed with mutex_ held
  LedgerCounts& retired_misses_;        // guarded by mutex_
  DetachingLinks detaching_;
};

// Writes the string arguments of all calls of all ABIs to where the programs read them.
void set_string_arguments(struct control& control);

// The pin of the program, and of its link, at `place` (CALL_ENTERED or CALL_RETURNED) of a
// function.
[[nodiscard]] std::string call_pin_name(const std::string& function, uint16_t place);

// The functions that pins of these names belong to, each once. Only functions of system calls:
// other names are of other pins, or not ours.
[[nodiscard]] std::vector<std::string> functions_of_pins(const std::vector<std::string>& names);

}  // namespace ktraced
