// SPDX-License-Identifier: BSD-2-Clause
// Selects the events to show.
#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/coverage/record_selector.h"
#include "analysis/predicate/predicate.h"
#include "base/error.h"
#include "ctl/selection/cgroup_choice.h"
#include "ctl/selection/known_tasks.h"
#include "schema/schema.h"
#include "trace/metadata/name_table.h"
#include "trace/packet/packet.h"

namespace ktraced {

// A selection as typed. A list matches if one of its values does; all lists must match.
struct SelectionArgs {
  std::vector<std::string> events;  // names of events or groups
  std::vector<uint32_t> pids;       // of processes or threads
  std::vector<uint32_t> uids;       // of processes
  std::vector<std::string> comms;   // exact, or a prefix followed by '*'
  std::vector<uint32_t> tids;       // ids of threads
  std::vector<uint32_t> cpus;
  std::vector<std::string> syscalls;  // of system calls, these
  std::vector<std::string> errors;    // of system calls that fail, these: "ENOENT", "any"
  std::vector<std::string> where;     // expressions: see analysis/predicate
  std::vector<std::string> cgroups;   // control groups, as CgroupChoice takes them

  // Do they select everything?
  [[nodiscard]] bool empty() const { return *this == SelectionArgs(); }
  bool operator==(const SelectionArgs&) const = default;
};

// What records have met of a selection.
struct SelectionUse {
  bool read_any = false;      // there was a record of the selected events
  bool selected_any = false;  // one met all conditions
  MetConditions met = 0;      // by at least one of them

  void note(MetConditions conditions) {
    read_any = true;
    selected_any |= conditions == kAllMet;
    met |= conditions;
  }
  void add(const SelectionUse& other) {
    read_any |= other.read_any;
    selected_any |= other.selected_any;
    met |= other.met;
  }
};

// Whose events a selection is made of: what to do about an unknown one depends on it.
enum class SchemaOf { daemon, trace };

// Decides which records are shown. An event about two tasks (a switch, a wake-up, a signal) is
// selected if either of them is, as the filters in the kernel do it.
class Selection {
 public:
  // Fails with ExitCode::usage for an event that `schema` does not have, naming
  // those that may be meant, for a condition that none of the named events can meet, or as
  // Predicate::make(). Names may be patterns: "irq:*". `undescribed`: events that may be named too,
  // although `schema` lacks them because no record is of them.
  static Result<Selection> make(const SelectionArgs& args, const Schema& schema,
                                SchemaOf owner = SchemaOf::daemon,
                                const std::set<std::string>& undescribed = {});

  // Adds an event that was defined later.
  void learn(const Event& event);

  [[nodiscard]] bool wants_event(uint32_t id) const {
    return all_events_ || (id < EVENT_ID_MAX && events_[id]);
  }
  [[nodiscard]] bool wants_cpu(uint32_t cpu) const;
  // Notes in use() what the record meets.
  [[nodiscard]] bool wants(uint32_t cpu, RecordView record, const NameTable& names) const {
    if (!wants_event(record.id())) return false;
    const MetConditions conditions = met(cpu, record, names);
    use_.note(conditions);
    return conditions == kAllMet;
  }
  [[nodiscard]] const SelectionUse& use() const { return use_; }
  // True if lost events may be selected ones. Their tasks and fields are not known.
  [[nodiscard]] bool wants_loss(uint32_t cpu, uint32_t id) const;

  // The conditions that a record meets, apart from the names of events. `about`: whether its task
  // is selected is asked for this thread, not for all those that the event is about.
  [[nodiscard]] MetConditions met(uint32_t cpu, RecordView record, const NameTable& names,
                                  std::optional<uint32_t> about = std::nullopt) const;
  [[nodiscard]] bool has_conditions() const {
    return has_task_conditions() || !cpus_.empty() || !where_.empty();
  }
  // The conditions on fields, as typed: "--error ENOENT".
  [[nodiscard]] const std::vector<std::string>& conditions() const { return where_options_; }
  // The conditions that are not in `met`, as typed: "--comm nginx --error ENOENT". Behind each that
  // selects no task or CPU of `known`, why: "--uid 7 (no task is of this user; …)".
  [[nodiscard]] std::string unmet_text(MetConditions met, const KnownTasks& known = {}) const;
  // Why nothing was selected, as typed: the conditions that were never met or, if each was met but
  // never all at once, "--comm nginx --error ENOENT together". Empty if something was selected, or
  // if there are no conditions.
  [[nodiscard]] std::string unmet_text(const SelectionUse& use, const KnownTasks& known = {}) const;
  // Can a record of the event meet the condition with this index?
  [[nodiscard]] bool can_meet(size_t condition, std::string_view event) const;
  // Can a record of the event meet all of them?
  [[nodiscard]] bool can_select(std::string_view event) const;

  // Do --pid, --tid, --uid, --comm and --cgroup select the thread at that time?
  // `renamed`: the name that the thread has, if not that of the table.
  [[nodiscard]] bool wants_task(uint32_t tid, uint64_t ts, uint32_t cpu, const NameTable& names,
                                std::optional<std::string_view> renamed = std::nullopt) const;
  [[nodiscard]] bool has_task_conditions() const {
    return !pids_.empty() || !uids_.empty() || !comms_.empty() || !tids_.empty() ||
           !cgroups_.empty();
  }
  // All conditions but these.
  [[nodiscard]] static MetConditions no_task_met();

  // The events selected by name, in the order of the schema, and those it lacks; empty: all.
  [[nodiscard]] const std::vector<std::string>& chosen_events() const { return chosen_; }

 private:
  [[nodiscard]] bool is_named(const Event& event) const;
  // " (…)": why the condition with this index may select nothing, for one of --where: its fields
  // that only few events have, one sentence each.
  [[nodiscard]] std::string hints_text(size_t condition) const;
  [[nodiscard]] bool is_about_chosen_tasks(uint32_t cpu, RecordView record,
                                           const NameTable& names) const;
  [[nodiscard]] std::string task_text(const KnownTasks& known) const;
  [[nodiscard]] bool has_several_task_conditions() const;

  std::vector<std::string> names_;  // as typed
  bool all_events_ = true;
  std::bitset<EVENT_ID_MAX> events_;
  std::vector<std::string> chosen_;
  std::vector<uint32_t> pids_;
  std::vector<uint32_t> uids_;
  std::vector<std::string> comms_;
  std::vector<uint32_t> tids_;
  std::vector<uint32_t> cpus_;
  CgroupChoice cgroups_;
  std::vector<Predicate> where_;
  std::vector<std::string> where_options_;            // of each, as typed
  std::map<std::string, uint16_t, std::less<>> ids_;  // of events
  // The fields with a thread by which the kernel's filter also matches an event, by event id.
  std::vector<std::vector<Field>> task_fields_;
  // The id of task_rename, and its fields with the thread and with the name before.
  struct Rename {
    uint16_t event = 0;
    Field pid, oldcomm;
  };
  std::optional<Rename> rename_;
  mutable SelectionUse use_;
};

}  // namespace ktraced
