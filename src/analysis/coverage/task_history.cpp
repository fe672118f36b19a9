// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/coverage/task_history.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/coverage/event_fields.h"
#include "analysis/coverage/event_table.h"
#include "analysis/coverage/thread_end.h"
#include "trace/packet/word_text.h"

namespace ktraced {
namespace {

// A group without a known path does not replace one with a path.
void note_cgroup(Task& task, uint64_t id, std::string_view path) {
  if (id == 0 || (path.empty() && !task.cgroup.empty())) return;
  task.cgroup_id = id;
  task.cgroup = path;
}

// All versions of a thread in one trace, in time order.
void add_versions(uint32_t tid, const std::vector<TaskName>& versions, const NameTable& names,
                  Tasks& tasks) {
  Task* task = nullptr;
  for (size_t i = 0; i < versions.size(); ++i) {
    const TaskName& version = versions[i];
    if (version.tgid == 0) {  // it has ended
      if (task != nullptr) task->end_ns = version.since;
      task = nullptr;
      continue;
    }
    Task* before = std::exchange(task, &tasks[{tid, version.start_time}]);
    if (before != nullptr && before != task)  // its id is used again
      before->gone_by_ns = std::min(before->gone_by_ns, version.since);
    task->pid = version.tgid;
    task->uid = version.uid;
    task->start_ns = version.start_time;
    task->comm = version.comm();
    if (version.parent != 0 && !task->parent_pid) task->parent_pid = version.parent;
    const uint64_t last = i + 1 < versions.size() ? versions[i + 1].since - 1 : UINT64_MAX;
    const uint64_t cgroup = names.cgroup_at(tid, std::max(version.since, last));
    note_cgroup(*task, cgroup, names.cgroup_path(cgroup));
  }
}

// The task with that id that was the latest to begin up to `ts`; if none is known, the earliest.
template <class Map>
auto* task_in(Map& tasks, uint32_t id, uint64_t ts) {
  const auto after = tasks.upper_bound({id, ts});
  if (after != tasks.begin() && std::prev(after)->first.first == id)
    return &std::prev(after)->second;
  return after != tasks.end() && after->first.first == id ? &after->second : nullptr;
}

constexpr std::array kLifeEvents = {"sched_process_fork", "sched_process_exec",
                                    "sched_process_exit"};

// False if the manifests say that the traces have no such events.
bool may_have_life_events(const History& history) {
  return std::ranges::any_of(history.traces(), [](const TraceReader& trace) {
    return trace.unfinished() ||
           std::ranges::any_of(trace.manifest().cpus, [](const CpuAccount& cpu) {
             return std::ranges::any_of(
                 kLifeEvents, [&](const char* event) { return cpu.events.contains(event); });
           });
  });
}

// The names of a trace have every thread that lives while it is recorded, from the time on since
// when they are all known. So a thread that a later trace does not know has ended before that. Call
// it before that trace is added.
void note_gone(const TraceReader& trace, Tasks& tasks) {
  if (trace.names().task_count() == 0) return;  // they are missing
  const uint64_t known_since_ns = std::max(trace.begin_ns(), trace.manifest().names_since_ns);
  std::map<uint32_t, std::vector<uint64_t>> starts;
  trace.names().for_each_task([&](uint32_t tid, const std::vector<TaskName>& versions) {
    for (const TaskName& version : versions)
      if (version.tgid != 0) starts[tid].push_back(version.start_time);
  });
  for (auto& [key, task] : tasks) {
    const auto known = starts.find(key.first);
    if (known != starts.end() &&
        std::ranges::find(known->second, key.second) != known->second.end())
      task.gone_by_ns = UINT64_MAX;
    else if (known_since_ns > task.start_ns)
      task.gone_by_ns = std::min(task.gone_by_ns, known_since_ns);
  }
}

// What the daemon has read in /proc: the last of it in the window, else what is nearest to it.
void add_commands(const NameTable& names, const TimeWindow& window, Tasks& processes) {
  names.for_each_command([&](const CommandLine& command) {
    constexpr uint64_t kTickNs = 10'000'000;  // its start is rounded down by less than this
    Task* process = task_in(processes, command.pid, command.start_ns + kTickNs - 1);
    if (process == nullptr || !is_of_process(command, process->start_ns)) return;
    if (!process->parent_pid && command.parent != 0) process->parent_pid = command.parent;
    if (process->argv && command.read_ns > window.end_ns) return;
    process->argv = command.shown();
    process->argv_read_ns = command.read_ns;
  });
}

Tasks processes_of(const Tasks& threads) {
  Tasks processes;
  for (const auto& [key, thread] : threads)
    if (key.first == thread.pid) processes.emplace(key, thread);
  for (const auto& [key, thread] : threads) {
    // The latest one with that id that is not younger than the thread.
    auto after = processes.upper_bound({thread.pid, thread.start_ns});
    const bool found = after != processes.begin() && std::prev(after)->first.first == thread.pid;
    if (!found) {
      Task process = thread;
      process.start_ns = process.end_ns = 0;
      after = std::next(processes.emplace(std::pair(thread.pid, uint64_t{0}), process).first);
    }
    Task& process = std::prev(after)->second;
    ++process.threads;
    process.gone_by_ns = std::max(process.gone_by_ns, thread.gone_by_ns);
    if (process.cgroup_id == 0 || (process.cgroup.empty() && !thread.cgroup.empty()))
      note_cgroup(process, thread.cgroup_id, thread.cgroup);
    if (!process.parent_pid) process.parent_pid = thread.parent_pid;
  }
  return processes;
}

// Takes the events of the lives of tasks.
class LifeEvents : public MergeSink {
 public:
  LifeEvents(const History& history, Tasks& threads, Tasks& processes)
      : threads_(threads), processes_(processes), window_(history.window()) {
    for (const TraceReader& trace : history.traces())
      plans_.emplace_back(trace.schema(), [](const Event& event) { return plan_of(event); });
  }

  void on_record(const RecordOrigin& from, RecordView record) override {
    const Plan* plan = plans_[from.source].find(record.id());
    if (plan != nullptr && plan->take != nullptr) (this->*plan->take)(*plan, record);
  }
  void on_loss(const LossItem& /*loss*/) override {}

 private:
  struct Plan {
    // Null: the event says nothing about lives.
    void (LifeEvents::*take)(const Plan& plan, RecordView record) = nullptr;
    std::optional<Field> pid, old_pid, parent_pid, child_pid, child_tgid, argv;
    ThreadEndFields end;
  };

  static Plan plan_of(const Event& event) {
    Plan plan;
    if (event.name == "sched_process_fork")
      plan.take = &LifeEvents::take_fork;
    else if (event.name == "sched_process_exec")
      plan.take = &LifeEvents::take_exec;
    else if (event.name == "sched_process_exit")
      plan.take = &LifeEvents::take_exit;
    else
      return plan;
    plan.pid = field_named(event, "pid");
    plan.old_pid = field_named(event, "old_pid");
    plan.parent_pid = field_named(event, "parent_pid");
    plan.child_pid = field_named(event, "child_pid");
    plan.child_tgid = field_named(event, "child_tgid");
    plan.argv = field_named(event, "argv");
    plan.end = ThreadEndFields::of(event);
    return plan;
  }
  static uint32_t id_in(const std::optional<Field>& field, RecordView record) {
    return static_cast<uint32_t>(value_or_zero(field, record));
  }
  // The process of a thread; null if it is not known.
  Task* process_of(const Task* thread) {
    if (thread == nullptr) return nullptr;
    return task_in(processes_, thread->pid, thread->start_ns);
  }

  void take_fork(const Plan& plan, RecordView record) {
    const uint32_t parent = id_in(plan.parent_pid, record), child = id_in(plan.child_pid, record);
    if (plan.child_tgid && id_in(plan.child_tgid, record) != child) return;  // a new thread
    Task* process = process_of(task_in(threads_, child, record.ts()));
    if (process == nullptr) return;
    const Task* forker = task_in(threads_, parent, record.ts());
    process->parent_pid = forker != nullptr ? forker->pid : parent;
  }

  void take_exec(const Plan& plan, RecordView record) {
    const uint32_t pid = id_in(plan.pid, record);
    Task* thread = task_in(threads_, pid, record.ts());
    Task* process = process_of(thread);
    if (process == nullptr) return;
    if (plan.old_pid && id_in(plan.old_pid, record) != pid)
      become_leader(*thread, *process, id_in(plan.old_pid, record), record.ts());
    take_argv(plan, record, *process);
    if (const uint32_t parent = id_in(plan.parent_pid, record); parent != 0 && !process->parent_pid)
      process->parent_pid = parent;
  }

  // An exec says more than /proc does: a program may have written another title there. What was
  // read before it is of another program, and so is what was read after an exec behind the window.
  void take_argv(const Plan& plan, RecordView record, Task& process) const {
    const bool was_read_before = process.argv_read_ns != 0 && process.argv_read_ns < record.ts();
    if (record.ts() > window_.end_ns) {
      if (process.argv_read_ns != 0 && !was_read_before) drop_argv(process);
      return;
    }
    if (plan.argv) {
      std::string scratch;
      process.argv = shown_text(*plan.argv, record, scratch);
      if (elements_of(*plan.argv, record).cut) *process.argv += "...";
      process.argv_read_ns = 0;
    } else if (was_read_before) {
      drop_argv(process);
    }
  }
  static void drop_argv(Task& process) {
    process.argv.reset();
    process.argv_read_ns = 0;
  }

  // Thread `old_tid` has run a new program: it gets the id of the main thread, which has ended.
  void become_leader(Task& leader, Task& process, uint32_t old_tid, uint64_t ts) {
    leader.end_ns = process.end_ns = 0;
    process.exit_code.reset();
    if (Task* old = task_in(threads_, old_tid, ts)) old->end_ns = ts;
  }

  void take_exit(const Plan& plan, RecordView record) {
    const uint32_t tid = id_in(plan.pid, record);
    Task* thread = task_in(threads_, tid, record.ts());
    if (thread == nullptr) return;
    const uint64_t named_end_ns = std::exchange(thread->end_ns, record.ts());
    Task* process = process_of(thread);
    if (process == nullptr) return;
    const bool is_leader = tid == thread->pid;
    const ThreadEnd end = plan.end.read(record, is_leader);
    if (end.status) process->exit_code = end.status;
    if (end.ends_process)
      process->end_ns = record.ts();
    else if (is_leader && process->end_ns == named_end_ns)
      process->end_ns = 0;  // that was the end of the main thread only
  }

  Tasks& threads_;
  Tasks& processes_;
  TimeWindow window_;
  std::vector<EventTable<Plan>> plans_;  // of each trace
};

}  // namespace

TaskHistory::TaskHistory(const History& history) : history_(history) {
  for (const TraceReader& trace : history.traces()) {
    note_gone(trace, threads_);
    trace.names().for_each_task([&](uint32_t tid, const std::vector<TaskName>& versions) {
      add_versions(tid, versions, trace.names(), threads_);
    });
  }
  processes_ = processes_of(threads_);
  for (const TraceReader& trace : history.traces())
    add_commands(trace.names(), history.window(), processes_);
}

bool lives_at(const Task& task, uint64_t ns) {
  if (task.start_ns > ns) return false;
  if (task.end_ns != 0) return task.end_ns > ns;
  return task.gone_by_ns == UINT64_MAX || task.gone_by_ns > ns;
}

const Task* TaskHistory::process_at(uint32_t pid, uint64_t ts) const {
  return task_in(processes_, pid, ts);
}

// The process of a thread, which there always is: the latest one that is not younger.
Tasks::key_type TaskHistory::process_of(const Tasks::value_type& thread) const {
  const Task& task = thread.second;
  return std::prev(processes_.upper_bound({task.pid, task.start_ns}))->first;
}

bool TaskHistory::read_events(const std::atomic<bool>& stop) {
  if (!may_have_life_events(history_)) events_read_ = true;
  if (events_read_) return true;
  History all = history_.again();
  all.set_window({});
  all.leave_out({});
  LifeEvents events(history_, threads_, processes_);
  while (!stop && all.read(events)) {
  }
  events_read_ = !stop;
  return events_read_;
}

}  // namespace ktraced
