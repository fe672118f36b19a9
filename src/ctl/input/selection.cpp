// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/input/selection.h"

#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "analysis/coverage/comm.h"
#include "base/text/suggest.h"
#include "trace/packet/field_value.h"

namespace ktraced {

namespace {

constexpr std::string_view kAnyError = "any";

bool comm_matches(std::string_view comm, std::string_view pattern) {
  if (pattern.ends_with('*')) return comm.starts_with(pattern.substr(0, pattern.size() - 1));
  return comm == pattern;
}

// True if `name` is the event's name or group.
bool means(const std::string& name, const Event& event) {
  if (event.name == name || event.group == name) return true;
  return name.find_first_of("*?") != std::string::npos &&
         ::fnmatch(name.c_str(), event.name.c_str(), FNM_NOESCAPE) == 0;
}

// Where the name may be found that was meant.
std::string remedy_for(std::string_view name, SchemaOf owner) {
  if (owner == SchemaOf::trace)
    return "the trace has no such event: 'ktracectl report summary DIR' lists those it has";
  if (name.starts_with("kprobes:")) return "a probe can be selected after 'ktracectl probe add'";
  if (name.contains(':'))
    return fmt::format(
        "a tracepoint can be selected after 'ktracectl events enable {}', a probe after "
        "'ktracectl probe add'",
        name);
  return "'ktracectl events' lists the built-in ones and those that are enabled";
}

std::unexpected<Error> unknown_event(std::string_view name, const Schema& schema, SchemaOf owner) {
  std::set<std::string> names;
  for (const Event& event : schema.events()) {
    names.insert(event.name);
    names.insert(event.group);
  }
  return fail(ExitCode::usage, "{}",
              unknown_name("event or group", name, names, remedy_for(name, owner)));
}

// The options that are shorthands of expressions, and those typed.
std::vector<std::string> conditions_of(const SelectionArgs& args) {
  std::vector<std::string> conditions = args.where;
  if (!args.cpus.empty())
    conditions.push_back(fmt::format("cpu in ({})", fmt::join(args.cpus, ", ")));
  if (!args.syscalls.empty())
    conditions.push_back(fmt::format("nr in ({})", fmt::join(args.syscalls, ", ")));
  if (std::ranges::find(args.errors, kAnyError) != args.errors.end())
    conditions.emplace_back("ret < 0 && ret >= -4095");
  else if (!args.errors.empty())
    conditions.push_back(fmt::format("ret in (-{})", fmt::join(args.errors, ", -")));
  return conditions;
}

}  // namespace

Result<Selection> Selection::make(const SelectionArgs& args, const Schema& schema, SchemaOf owner) {
  Selection selection;
  for (const std::string& name : args.events)
    if (std::ranges::none_of(schema.events(),
                             [&](const Event& event) { return means(name, event); }))
      return unknown_event(name, schema, owner);
  selection.names_ = args.events;
  selection.all_events_ = args.events.empty();
  selection.pids_ = args.pids;
  selection.uids_ = args.uids;
  selection.comms_ = args.comms;
  selection.tids_ = args.tids;
  selection.cgroups_ = CgroupChoice(args.cgroups);
  for (const std::string& condition : conditions_of(args)) {
    auto predicate = Predicate::make(condition, schema);
    if (!predicate) return propagate(predicate);
    selection.where_.push_back(std::move(*predicate));
  }
  selection.task_fields_.resize(EVENT_ID_MAX);
  for (const Event& event : schema.events()) selection.learn(event);
  return selection;
}

bool Selection::is_named(const Event& event) const {
  return std::ranges::any_of(names_, [&](const std::string& name) { return means(name, event); });
}

void Selection::learn(const Event& event) {
  if (event.id >= EVENT_ID_MAX) return;
  for (Predicate& predicate : where_) predicate.learn(event);
  if (is_named(event)) {
    events_.set(event.id);
    chosen_.push_back(event.name);
  }
  for (const Field& field : event.fields)
    if (field.meaning == Meaning::tid && is_scalar(field)) task_fields_[event.id].push_back(field);
}

bool Selection::wants_task(uint32_t tid, uint64_t ts, uint32_t cpu, const NameTable& names) const {
  if (!tids_.empty() && std::ranges::find(tids_, tid) == tids_.end()) return false;
  if (!pids_.empty() && std::ranges::find(pids_, tid) == pids_.end()) {
    const TaskName* task = names.task_at(tid, ts);
    if (task == nullptr || std::ranges::find(pids_, task->tgid) == pids_.end()) return false;
  }
  if (!uids_.empty()) {
    const TaskName* task = names.task_at(tid, ts);
    // The tables have no entry for the idle tasks. They belong to root.
    if (task == nullptr && tid != 0) return false;
    if (std::ranges::find(uids_, task != nullptr ? task->uid : 0U) == uids_.end()) return false;
  }
  if (!cgroups_.empty() && !cgroups_.contains(tid, ts, names)) return false;
  if (comms_.empty()) return true;
  CommScratch scratch;
  auto comm = comm_at(names, tid, ts, cpu, scratch);
  return comm && std::ranges::any_of(comms_, [&](const std::string& pattern) {
           return comm_matches(*comm, pattern);
         });
}

bool Selection::wants(uint32_t cpu, RecordView record, const NameTable& names) const {
  if (!wants_event(record.id())) return false;
  if (!is_about_chosen_tasks(cpu, record, names)) return false;
  const PredicateSubject subject{.record = record, .cpu = cpu, .names = names};
  return std::ranges::all_of(
      where_, [&](const Predicate& predicate) { return predicate.matches(subject); });
}

bool Selection::is_about_chosen_tasks(uint32_t cpu, RecordView record,
                                      const NameTable& names) const {
  if (pids_.empty() && uids_.empty() && comms_.empty() && tids_.empty() && cgroups_.empty())
    return true;
  if (wants_task(record.tid(), record.ts(), cpu, names)) return true;
  if (record.id() >= task_fields_.size()) return false;
  return std::ranges::any_of(task_fields_[record.id()], [&](const Field& field) {
    auto tid = integer_of(field, record);
    return tid && wants_task(static_cast<uint32_t>(*tid), record.ts(), cpu, names);
  });
}

}  // namespace ktraced
