// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/selection/selection.h"

#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <set>

#include "analysis/coverage/comm.h"
#include "analysis/coverage/event_fields.h"
#include "base/text/c_text.h"
#include "base/text/suggest.h"
#include "ctl/selection/field_conditions.h"
#include "schema/names.h"
#include "trace/packet/field_value.h"

namespace ktraced {

namespace {

constexpr std::string_view kListedByTrace =
    "'.schema EVENT' of 'ktracectl query DIR' lists those of an event";

// The names in `names` that the schema lacks, as events without a description.
std::vector<Event> events_missing_in(const Schema& schema, const std::set<std::string>& names) {
  std::vector<Event> missing;
  for (const std::string& name : names)
    if (schema.find(name) == nullptr)
      missing.push_back({.name = name, .group = name.substr(0, name.find(':'))});
  return missing;
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

// An option that selects by what many take for a field.
struct Alternative {
  std::string_view field;
  std::string_view option;
};

constexpr Alternative kAlternatives[] = {
    {"uid", "; for the user of a process use --uid"},
};

// Sentences about those fields of the expression that only few events have, or no record.
std::vector<std::string> hints_of(const Predicate& predicate) {
  constexpr size_t kFew = 4;
  std::vector<std::string> hints;
  for (const auto& [field, events] : predicate.fields()) {
    if (events.size() > kFew) continue;
    const auto* other = std::ranges::find(kAlternatives, field, &Alternative::field);
    hints.push_back(fmt::format("'{}' is a field of {}{}", field, fmt::join(events, ", "),
                                other != std::end(kAlternatives) ? other->option : ""));
  }
  if (predicate.lacks_contexts()) hints.emplace_back("the records do not have their 'context'");
  return hints;
}

// Bits of MetConditions: the tasks, the CPU, and from kFields on a bit for each condition on
// fields.
constexpr unsigned kTaskBit = 0, kCpuBit = 1, kFields = 2;
constexpr size_t kMaxConditions = 62;

// Does the kernel's filter also match a hit of this event by the thread in this field? That is the
// other task of a pair. A parent is the current task at a fork and no task of the event at an exec,
// and the process of a thread is not the thread. Dynamic events are matched by the current task
// only.
bool names_other_task(const Event& event, const Field& field) {
  if (event.matched_by == MatchedBy::current || is_dynamic(event)) return false;
  return field.meaning == Meaning::tid && is_scalar(field) && field.name != "parent_pid" &&
         !field.name.ends_with("tgid");
}

constexpr MetConditions bit(size_t number) { return MetConditions{1} << number; }

}  // namespace

Result<Selection> Selection::make(const SelectionArgs& args, const Schema& schema, SchemaOf owner,
                                  const std::set<std::string>& undescribed) {
  Selection selection;
  const std::vector<Event> missing = events_missing_in(schema, undescribed);
  for (const std::string& name : args.events) {
    const auto is_meant = [&](const Event& event) { return means(name, event); };
    if (std::ranges::none_of(schema.events(), is_meant) && std::ranges::none_of(missing, is_meant))
      return unknown_event(name, schema, owner);
  }
  selection.names_ = args.events;
  selection.all_events_ = args.events.empty();
  selection.pids_ = args.pids;
  selection.uids_ = args.uids;
  selection.comms_ = args.comms;
  selection.tids_ = args.tids;
  selection.cpus_ = args.cpus;
  selection.cgroups_ = CgroupChoice(args.cgroups);
  if (auto good = check_condition_names(args, schema); !good) return propagate(good);
  for (FieldCondition& condition : conditions_of(args)) {
    if (selection.where_.size() == kMaxConditions)
      return fail(ExitCode::usage, "more than {} conditions: join them with &&", kMaxConditions);
    if (trimmed(condition.expression).empty())
      return fail(ExitCode::usage, "--where is empty: write a condition, as 'ret < 0'");
    auto predicate =
        Predicate::make(condition.expression, schema,
                        owner == SchemaOf::trace ? kListedByTrace : Predicate::kListedByDaemon);
    if (!predicate) return propagate(predicate);
    selection.where_.push_back(std::move(*predicate));
    selection.where_options_.push_back(std::move(condition.option));
  }
  selection.task_fields_.resize(EVENT_ID_MAX);
  for (const Event& event : schema.events()) selection.learn(event);
  for (const Event& event : missing)
    if (selection.is_named(event)) selection.chosen_.push_back(event.name);
  for (size_t i = 0; i < selection.where_.size() && !selection.all_events_; ++i)
    if (std::ranges::none_of(selection.chosen_, [&](const std::string& event) {
          return !selection.ids_.contains(event) || selection.can_meet(i, event);
        }))
      return fail(ExitCode::usage, "{} concerns no event of --event {}",
                  selection.where_options_[i], fmt::join(args.events, ","));
  return selection;
}

bool Selection::is_named(const Event& event) const {
  return std::ranges::any_of(names_, [&](const std::string& name) { return means(name, event); });
}

void Selection::learn(const Event& event) {
  if (event.id >= EVENT_ID_MAX) return;
  ids_[event.name] = event.id;
  for (Predicate& predicate : where_) predicate.learn(event);
  if (is_named(event)) {
    events_.set(event.id);
    chosen_.push_back(event.name);
  }
  for (const Field& field : event.fields)
    if (names_other_task(event, field)) task_fields_[event.id].push_back(field);
  if (event.name != "task_rename") return;
  const auto pid = field_named(event, "pid"), oldcomm = field_named(event, "oldcomm");
  if (pid && is_scalar(*pid) && oldcomm && oldcomm->meaning == Meaning::text)
    rename_ = {.event = event.id, .pid = *pid, .oldcomm = *oldcomm};
}

bool Selection::wants_task(uint32_t tid, uint64_t ts, uint32_t cpu, const NameTable& names,
                           std::optional<std::string_view> renamed) const {
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
  const auto comm = renamed ? renamed : comm_at(names, tid, ts, cpu, scratch);
  return comm && std::ranges::any_of(comms_, [&](const std::string& pattern) {
           return comm_matches(*comm, pattern);
         });
}

MetConditions Selection::met(uint32_t cpu, RecordView record, const NameTable& names,
                             std::optional<uint32_t> about) const {
  MetConditions met = kAllMet;
  if (has_task_conditions()) {
    const bool chosen = about ? wants_task(*about, record.ts(), cpu, names)
                              : is_about_chosen_tasks(cpu, record, names);
    if (!chosen) met &= ~bit(kTaskBit);
  }
  if (!wants_cpu(cpu)) met &= ~bit(kCpuBit);
  const PredicateSubject subject{.record = record, .cpu = cpu, .names = names};
  for (size_t i = 0; i < where_.size(); ++i)
    if (!where_[i].matches(subject)) met &= ~bit(kFields + i);
  return met;
}

MetConditions Selection::no_task_met() { return kAllMet & ~bit(kTaskBit); }

// The options that select no task, each with the reason; else all of them: together they select
// none.
std::string Selection::task_text(const KnownTasks& known) const {
  std::string all, unknown;
  const auto add = [&](const char* option, const auto& values, const auto& why_none) {
    if (values.empty()) return;
    const std::string text = fmt::format(" {} {}", option, fmt::join(values, ","));
    const std::string why = (known.*why_none)(values);
    all += text;
    if (!why.empty()) unknown += fmt::format("{} ({})", text, why);
  };
  add("--pid", pids_, &KnownTasks::why_no_pid);
  add("--tid", tids_, &KnownTasks::why_no_tid);
  add("--uid", uids_, &KnownTasks::why_no_uid);
  add("--comm", comms_, &KnownTasks::why_no_comm);
  add("--cgroup", cgroups_.texts(), &KnownTasks::why_no_cgroup);
  return unknown.empty() ? all : unknown;
}

std::string Selection::unmet_text(MetConditions met, const KnownTasks& known) const {
  std::string text;
  if ((met & bit(kTaskBit)) == 0) text += task_text(known);
  if ((met & bit(kCpuBit)) == 0 && !cpus_.empty()) {
    text += fmt::format(" --cpu {}", fmt::join(cpus_, ","));
    if (const std::string why = known.why_no_cpu(cpus_); !why.empty())
      text += fmt::format(" ({})", why);
  }
  for (size_t i = 0; i < where_.size(); ++i)
    if ((met & bit(kFields + i)) == 0) text += " " + where_options_[i] + hints_text(i);
  return text.substr(std::min<size_t>(1, text.size()));
}

// Whether a task meets one of its several options is not noted.
std::string Selection::unmet_text(const SelectionUse& use, const KnownTasks& known) const {
  if (use.selected_any || !has_conditions()) return {};
  const std::string unmet = unmet_text(use.met, known);
  if (unmet.empty()) return unmet_text(MetConditions{0}) + " together";
  const bool by_tasks =
      use.read_any && has_several_task_conditions() && unmet == unmet_text(no_task_met());
  return by_tasks ? unmet + " together" : unmet;
}

bool Selection::has_several_task_conditions() const {
  return std::ranges::count(std::array{pids_.empty(), tids_.empty(), uids_.empty(), comms_.empty(),
                                       cgroups_.empty()},
                            false) > 1;
}

std::string Selection::hints_text(size_t condition) const {
  if (!where_options_[condition].starts_with(kWhereOption)) return {};
  const auto hints = hints_of(where_[condition]);
  return hints.empty() ? std::string() : fmt::format(" ({})", fmt::join(hints, "; "));
}

bool Selection::wants_cpu(uint32_t cpu) const {
  return cpus_.empty() || std::ranges::find(cpus_, cpu) != cpus_.end();
}

bool Selection::wants_loss(uint32_t cpu, uint32_t id) const {
  return wants_event(id) && wants_cpu(cpu) &&
         std::ranges::all_of(where_, [id](const Predicate& each) { return each.can_match(id); });
}

bool Selection::can_meet(size_t condition, std::string_view event) const {
  const auto id = ids_.find(event);
  return id != ids_.end() && where_[condition].can_match(id->second);
}

bool Selection::can_select(std::string_view event) const {
  for (size_t i = 0; i < where_.size(); ++i)
    if (!can_meet(i, event)) return false;
  return true;
}

bool Selection::is_about_chosen_tasks(uint32_t cpu, RecordView record,
                                      const NameTable& names) const {
  // The kernel selects a rename by the name before it; the table has the one after it.
  const bool renames = rename_ && record.id() == rename_->event;
  const auto renamed_tid = renames ? integer_of(rename_->pid, record) : std::nullopt;
  const auto wants = [&](uint32_t tid) {
    const bool is_renamed = renamed_tid && static_cast<uint32_t>(*renamed_tid) == tid;
    return wants_task(tid, record.ts(), cpu, names,
                      is_renamed ? std::optional(text_of(rename_->oldcomm, record)) : std::nullopt);
  };
  if (wants(record.tid())) return true;
  if (record.id() >= task_fields_.size()) return false;
  return std::ranges::any_of(task_fields_[record.id()], [&](const Field& field) {
    const auto tid = integer_of(field, record);
    return tid && wants(static_cast<uint32_t>(*tid));
  });
}

}  // namespace ktraced
