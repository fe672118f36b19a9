// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <map>
#include <utility>

#include "ctl/tables/stored_rows.h"
#include "ctl/tables/trace_tables.h"

namespace ktraced {
namespace {

// A thread, or the main thread of a process.
struct Task {
  uint32_t pid = 0;
  uint32_t uid = 0;
  uint64_t start_ns = 0;  // 0: unknown
  uint64_t end_ns = 0;    // 0: it has not ended, or that is unknown
  std::string comm;       // the last one
  uint64_t threads = 0;   // of a process
};
// By its id and its start.
using Tasks = std::map<std::pair<uint32_t, uint64_t>, Task>;

// All threads that the traces know.
Tasks threads_of(const History& history) {
  Tasks tasks;
  for (const TraceReader& trace : history.traces()) {
    trace.names().for_each_task([&](uint32_t tid, const std::vector<TaskName>& versions) {
      Task* task = nullptr;
      for (const TaskName& version : versions) {
        if (version.tgid == 0) {  // it has ended
          if (task != nullptr) task->end_ns = version.since;
          task = nullptr;
          continue;
        }
        task = &tasks[{tid, version.start_time}];
        task->pid = version.tgid;
        task->uid = version.uid;
        task->start_ns = version.start_time;
        task->comm = version.comm();
      }
    });
  }
  return tasks;
}

// A process is known by its main thread, or else by any other one.
Tasks processes_of(const History& history) {
  Tasks processes;
  const Tasks threads = threads_of(history);
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
    ++std::prev(after)->second.threads;
  }
  return processes;
}

std::optional<uint64_t> known(uint64_t ns) { return ns != 0 ? std::optional(ns) : std::nullopt; }

void add_thread(uint32_t tid, const Task& task, StoredRows& rows) {
  rows.integer(tid);
  rows.integer(task.pid);
  rows.text(std::string_view(task.comm));
  rows.integer(task.uid);
  rows.integer(known(task.start_ns));
  rows.integer(known(task.end_ns));
}

void add_process(uint32_t pid, const Task& task, StoredRows& rows) {
  rows.integer(pid);
  rows.text(std::string_view(task.comm));
  rows.integer(task.uid);
  rows.integer(known(task.start_ns));
  rows.integer(known(task.end_ns));
  rows.integer(task.threads);
}

// Its rows are made by the first scan.
class TaskTable : public QueryTable {
 public:
  using Read = Tasks (*)(const History& history);
  using Add = void (*)(uint32_t id, const Task& task, StoredRows& rows);

  TaskTable(const History& history, std::string name, std::string doc, std::vector<Column> columns,
            Read read, Add add)
      : QueryTable(std::move(name), std::move(doc)),
        history_(history),
        read_(read),
        add_(add),
        stored_(columns.size()) {
    columns_ = std::move(columns);
  }
  [[nodiscard]] uint64_t rows() const override {
    uint64_t count = 0;
    for (const TraceReader& trace : history_.traces()) count += trace.names().task_count();
    return count;
  }
  [[nodiscard]] uint64_t records() const override { return 0; }
  [[nodiscard]] std::optional<uint64_t> row_count() const override {
    store();
    return stored_.size();
  }
  [[nodiscard]] std::unique_ptr<RowScan> scan(const ScanLimits& limits,
                                              const std::atomic<bool>& /*stop*/) const override {
    store();
    const bool threads = columns_.front().limits == Limits::tid;
    return std::make_unique<SortedScan>(stored_, threads ? limits.tids : limits.pids);
  }

 private:
  void store() const {
    if (stored_.size() != 0) return;
    for (const auto& [key, task] : read_(history_)) add_(key.first, task, stored_);
  }

  const History& history_;
  Read read_;
  Add add_;
  mutable StoredRows stored_;
};

}  // namespace

std::unique_ptr<QueryTable> threads_table(const TableInput& input) {
  std::vector<Column> columns = {
      {.name = "tid", .doc = "the thread", .limits = Limits::tid},
      {.name = "pid", .doc = "its process", .limits = Limits::pid},
      {.name = "comm", .is_text = true, .doc = "its last name"},
      {.name = "uid", .doc = "its user"},
      {.name = "start_ts", .doc = "when it began: ns since boot"},
      {.name = "end_ts", .doc = "when it ended; NULL if the trace does not say so"}};
  return std::make_unique<TaskTable>(input.history, "threads", "all threads that the traces know",
                                     std::move(columns), threads_of, add_thread);
}

std::unique_ptr<QueryTable> processes_table(const TableInput& input) {
  std::vector<Column> columns = {
      {.name = "pid", .doc = "the process", .limits = Limits::pid},
      {.name = "comm", .is_text = true, .doc = "the last name of its main thread"},
      {.name = "uid", .doc = "its user"},
      {.name = "start_ts", .doc = "when it began: ns since boot"},
      {.name = "end_ts", .doc = "when its main thread ended; NULL if the trace does not say so"},
      {.name = "threads", .doc = "its threads that the traces know"}};
  return std::make_unique<TaskTable>(input.history, "processes",
                                     "all processes that the traces know", std::move(columns),
                                     processes_of, add_process);
}

}  // namespace ktraced
