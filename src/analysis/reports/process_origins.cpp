// SPDX-License-Identifier: BSD-2-Clause
// Where processes come from: what other sources than the events of the window know of them.
#include <unordered_map>
#include <vector>

#include "analysis/reports/process_analysis.h"

namespace ktraced {
namespace {

// Is a process that begins at `start_ns` not younger than its child? Otherwise it has reused the id
// of the parent. Start times may be rounded down to clock ticks; 0 is an unknown one.
bool may_be_parent(uint64_t start_ns, uint64_t child_ns) {
  constexpr uint64_t kTickNs = 10'000'000;  // 100 Hz on x86
  return start_ns == 0 || child_ns == 0 || start_ns <= child_ns + kTickNs;
}

// The name that it had when its child began.
void name_parent(ProcessRef& parent, uint64_t child_ns, const NameTable& names) {
  const TaskName* task = names.task_at(parent.pid, child_ns);
  if (task != nullptr && may_be_parent(task->start_time, child_ns)) parent.comm = task->comm();
}

}  // namespace

// `parent`: the id of the parent, 0: unknown. `start_ns`: when a thread of the process began.
void ProcessAnalysis::note_parent(ProcessRow& row, uint32_t parent, uint64_t start_ns,
                                  const NameTable& names) {
  if (row.parent || parent == 0) return;
  row.parent = {.pid = parent, .comm = {}, .row = std::nullopt};
  name_parent(*row.parent, start_ns, names);
}

// The kernel runs a thread a little longer than its exit event, which may be before the window.
void ProcessAnalysis::note_earlier_end(ProcessRow& row, const Task& task) {
  const bool known = row.start_ns != 0 && task.end_ns != 0 && task.exit_code;
  if (row.end_ns || !known || task.end_ns >= row.first_ns) return;
  row.end_ns = task.end_ns;
  row.exit_code = task.exit_code;
}

void ProcessAnalysis::complete(const TaskHistory& tasks) {
  completed_ = true;
  for (ProcessRow& row : rows_) {
    const Task* task = row.known ? tasks.process_at(row.pid, row.last_ns) : nullptr;
    if (task == nullptr || (row.start_ns != 0 && task->start_ns != row.start_ns)) continue;
    note_earlier_end(row, *task);
    if (row.execs == 0) {
      row.argv = task->argv;
      row.argv_read_ns = task->argv_read_ns;
    }
    if (row.parent || task->parent_pid.value_or(0) == 0) continue;
    row.parent = {.pid = *task->parent_pid, .comm = {}, .row = std::nullopt};
    for (const Source& source : sources_)
      if (row.parent->comm.empty()) name_parent(*row.parent, task->start_ns, *source.names);
  }
}

// What the daemon has read in /proc of processes that ran no program in the window. A thread whose
// process is not known may be a main thread: then it is the process with its id, unless that began
// when the thread was seen no more.
void ProcessAnalysis::find_commands() {
  for (ProcessRow& row : rows_) {
    if (row.execs != 0 || (completed_ && row.known)) continue;
    for (const Source& source : sources_) {
      const CommandLine* command = source.names->command_of(row.pid, row.start_ns);
      if (command == nullptr || command->start_ns > row.last_ns) continue;
      row.argv = command->shown();
      row.argv_read_ns = command->read_ns;
      note_parent(row, command->parent, command->start_ns, *source.names);
    }
  }
}

// Finds the rows of the parents that are not known by events. A parent may have its row later than
// its child.
void ProcessAnalysis::find_parents() {
  std::unordered_map<uint32_t, std::vector<uint32_t>> numbers;  // by pid, in order of appearance
  for (uint32_t number = 0; number < rows_.size(); ++number)
    if (rows_[number].known) numbers[rows_[number].pid].push_back(number);
  for (ProcessRow& row : rows_) {
    if (!row.parent || row.parent->row) continue;
    for (const uint32_t number : numbers[row.parent->pid])
      if (may_be_parent(rows_[number].start_ns, row.start_ns)) row.parent->row = number;
    if (row.parent->row && row.parent->comm.empty())
      row.parent->comm = rows_[*row.parent->row].comm;
  }
}

}  // namespace ktraced
