// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/rates/process_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/coverage/event_fields.h"
#include "analysis/intervals/evict.h"
#include "ctl/rates/rates.h"

namespace ktraced {
namespace {

constexpr double kPercent = 100;

std::string_view name_of(uint32_t pid, bool known, std::string_view comm) {
  if (known && pid == 0) return "idle";
  if (!comm.empty()) return comm;
  return known ? "?" : "? (a thread)";
}

TopCell percent_cell(double percent, std::string_view unit) {
  return {.text = fmt::format("{:.1f}{}", percent, unit), .number = percent};
}

}  // namespace

void ProcessRates::add_source(const Schema& schema, const NameTable& names) {
  runs_.add_source(schema, names);
  names_ = &names;
  argvs_.emplace(schema, [](const Event& event) -> std::optional<Field> {
    if (event.name != "sched_process_exec") return std::nullopt;
    return field_named(event, "argv");
  });
}

void ProcessRates::set_selector(const RecordSelector& selector) {
  ActivityRates::set_selector(selector);
  runs_.set_selector(selector);
}

void ProcessRates::on_record(const RecordOrigin& from, RecordView record) {
  const std::optional<Field>* argv = argvs_->find(record.id());
  if (argv != nullptr && *argv) note_exec(**argv, record, actor_of(record, *names_));
  if (record.ts() >= begin_ns_ && is_selected(from, record)) {
    ++events_;
    const Actor actor = actor_of(record, *names_);
    if (Process* process = process_of(actor)) {
      ++process->events;
      actor.name(process->comm);
    }
  }
  runs_.on_record(from, record);
}

ProcessRates::Process* ProcessRates::process_of(const Actor& actor) {
  const auto number = numbers_.of(actor);
  if (!number) return nullptr;
  if (*number == processes_.size()) processes_.emplace_back();
  Process& process = processes_[*number];
  process.identify(actor);
  return &process;
}

void ProcessRates::note_exec(const Field& argv, RecordView record, const Actor& actor) {
  if (execs_.size() >= kMaxProcesses)  // the processes of the older half have likely ended
    evict_older_half(execs_, [](const CommandLine& exec) { return exec.read_ns; });
  execs_[actor.id] = {.pid = actor.id,
                      .read_ns = record.ts(),
                      .start_ns = actor.start_ns,
                      .text = std::string(text_of(argv, record)),
                      .cut = elements_of(argv, record).cut};
}

void ProcessRates::on_config_change(uint64_t ts, const TraceConfig& config) {
  has_switches_ = config.has("sched_switch");
  runs_.on_config_change(ts, config);
}

void ProcessRates::on_switch(const Switch& what) {
  if (what.next_covered && what.next_selected)
    running_[what.cpu] = {.tid = what.next,
                          .since_ns = std::max(what.ts, begin_ns_),
                          .may_have_stopped_cpu = what.next_may_stop_cpu()};
}

void ProcessRates::on_run(const RunInterval& interval) {
  const Running running = std::exchange(running_[interval.cpu], {});
  if (interval.known && interval.selected) count_run(running, interval.end_ns);
}

// An event may have given the process a newer name than it had at the beginning of the run.
void ProcessRates::count_run(const Running& running, uint64_t until_ns) {
  if (running.tid == 0 || until_ns < begin_ns_) return;
  const TaskName* task = names_->task_at(running.tid, running.since_ns);
  const Actor actor = actor_of(running.tid, running.since_ns, task, *names_);
  Process* process = process_of(actor);
  if (process == nullptr) return;
  if (process->comm.empty()) actor.name(process->comm);
  process->cpu_ns = process->cpu_ns.value_or(0) + until_ns - std::min(until_ns, running.since_ns);
}

TopTable ProcessRates::take(uint64_t since_ns, uint64_t until_ns) {
  for (auto& [cpu, running] : running_) {
    // Whether such a thread still runs is unknown: of a long run only the last part is counted.
    if (!running.may_have_stopped_cpu) count_run(running, until_ns);
    running.since_ns = std::max(running.since_ns, until_ns);
  }
  TopTable table{.columns = {{.title = "PROCESS", .is_text = true},
                             {.title = "EVENTS/S"},
                             {.title = "SHARE"},
                             {.title = "CPU %"},
                             {.title = "PID"},
                             {.title = "COMMAND", .is_text = true}},
                 .rows = {},
                 .note = has_switches_ ? "" : "CPU %: needs sched_switch"};
  const double seconds = seconds_between(since_ns, until_ns);
  for (const Process& process : processes_) table.rows.push_back(row_of(process, seconds));
  numbers_ = ActorNumbers(kMaxProcesses);
  processes_.clear();
  events_ = 0;
  return table;
}

TopRow ProcessRates::row_of(const Process& process, double seconds) const {
  const auto events = static_cast<double>(process.events);
  const double share = events_ == 0 ? 0 : kPercent * events / static_cast<double>(events_);
  constexpr double kNsPerSecond = 1e9;
  const double cpu_s = static_cast<double>(process.cpu_ns.value_or(0)) / kNsPerSecond;
  return {text_cell(name_of(process.pid, process.known, process.comm)),
          rate_cell(events / seconds),
          percent_cell(share, " %"),
          process.cpu_ns ? percent_cell(kPercent * cpu_s / seconds, "") : unknown_cell(),
          {.text = std::to_string(process.pid), .number = static_cast<double>(process.pid)},
          text_cell(command_of(process))};
}

std::string ProcessRates::command_of(const Process& process) const {
  if (!process.known || process.pid == 0) return {};
  const auto exec = execs_.find(process.pid);
  const bool is_newer = exec != execs_.end() && is_of_process(exec->second, process.start_ns);
  const CommandLine* command =
      is_newer ? &exec->second : names_->command_of(process.pid, process.start_ns);
  return command == nullptr ? std::string() : command->shown();
}

}  // namespace ktraced
