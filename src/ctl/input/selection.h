// SPDX-License-Identifier: BSD-2-Clause
// Selects the events to show.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/predicate/predicate.h"
#include "base/error.h"
#include "ctl/input/cgroup_choice.h"
#include "schema/schema.h"
#include "trace/metadata/name_table.h"
#include "trace/packet/packet.h"

namespace ktraced {

// As typed. A list matches if one of its values does; all lists must match.
struct SelectionArgs {
  std::vector<std::string> events;  // names of events or groups
  std::vector<uint32_t> pids;       // of processes or threads
  std::vector<uint32_t> uids;       // of processes
  std::vector<std::string> comms;   // exact, or a prefix followed by '*'
  std::vector<uint32_t> tids;       // of these threads
  std::vector<uint32_t> cpus;
  std::vector<std::string> syscalls;  // of system calls, these
  std::vector<std::string> errors;    // of system calls that fail, these: "ENOENT", "any"
  std::vector<std::string> where;     // expressions: see analysis/predicate
  std::vector<std::string> cgroups;   // control groups, as CgroupChoice takes them
};

// Whose events a selection is made of: what to do about an unknown one depends on it.
enum class SchemaOf { daemon, trace };

// Like the filters in the kernel, an event about two tasks (a switch, a wake-up, a
// signal) is selected if either of them is.
class Selection {
 public:
  // Fails with ExitCode::usage for an event that `schema` does not have, naming
  // those that may be meant, or as Predicate::make(). Names may be patterns: "irq:*".
  static Result<Selection> make(const SelectionArgs& args, const Schema& schema,
                                SchemaOf owner = SchemaOf::daemon);

  // Adds an event that was defined later.
  void learn(const Event& event);

  [[nodiscard]] bool wants_event(uint32_t id) const {
    return all_events_ || (id < EVENT_ID_MAX && events_[id]);
  }
  [[nodiscard]] bool wants(uint32_t cpu, RecordView record, const NameTable& names) const;

  // The events selected by name, in the order of the schema; empty: all.
  [[nodiscard]] const std::vector<std::string>& chosen_events() const { return chosen_; }

 private:
  [[nodiscard]] bool wants_task(uint32_t tid, uint64_t ts, uint32_t cpu,
                                const NameTable& names) const;
  [[nodiscard]] bool is_named(const Event& event) const;
  [[nodiscard]] bool is_about_chosen_tasks(uint32_t cpu, RecordView record,
                                           const NameTable& names) const;

  std::vector<std::string> names_;  // as typed
  bool all_events_ = true;
  std::bitset<EVENT_ID_MAX> events_;
  std::vector<std::string> chosen_;
  std::vector<uint32_t> pids_;
  std::vector<uint32_t> uids_;
  std::vector<std::string> comms_;
  std::vector<uint32_t> tids_;
  CgroupChoice cgroups_;
  std::vector<Predicate> where_;
  std::vector<std::vector<Field>> task_fields_;  // by event id
};

}  // namespace ktraced
