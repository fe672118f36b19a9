// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/coverage/task_history.h"
#include "ctl/tables/stored_rows.h"
#include "ctl/tables/trace_tables.h"
#include "schema/names.h"
#include "trace/metadata/container.h"

namespace ktraced {
namespace {

// The columns whose values come from events; the others come from the names of tasks.
constexpr std::array<std::string_view, 5> kOfEvents = {"end_ts", "parent_pid", "argv",
                                                       "exit_status", "exit_signal"};

std::optional<uint64_t> known(uint64_t ns) { return ns != 0 ? std::optional(ns) : std::nullopt; }

void add_text(std::string_view text, StoredRows& rows) {
  if (text.empty())
    rows.null();
  else
    rows.text(text);
}

// Fills the columns of add_cgroup_columns().
void add_cgroup(std::string_view path, StoredRows& rows) {
  const auto container = container_of(path);
  add_text(path, rows);
  add_text(container ? container->id : std::string_view(), rows);
  add_text(container ? container->pod : std::string_view(), rows);
}

void add_exit(const std::optional<int32_t>& exit_code, StoredRows& rows) {
  const ExitStatus end = decode_exit_code(exit_code.value_or(0));
  rows.integer(exit_code && end.signal == 0 ? std::optional(static_cast<uint64_t>(end.status))
                                            : std::nullopt);
  rows.name(exit_code ? signal_name(end.signal) : std::string_view());
}

void add_thread(uint32_t tid, const Task& task, StoredRows& rows) {
  rows.integer(tid);
  rows.integer(task.pid);
  rows.text(std::string_view(task.comm));
  rows.integer(task.uid);
  rows.integer(known(task.start_ns));
  rows.integer(known(task.end_ns));
  add_cgroup(task.cgroup, rows);
}

void add_process(uint32_t pid, const Task& task, StoredRows& rows) {
  rows.integer(pid);
  rows.text(std::string_view(task.comm));
  rows.integer(task.uid);
  rows.integer(known(task.start_ns));
  rows.integer(known(task.end_ns));
  rows.integer(task.threads);
  rows.integer(task.parent_pid ? std::optional<uint64_t>(*task.parent_pid) : std::nullopt);
  if (task.argv)
    rows.text(std::string_view(*task.argv));
  else
    rows.null();
  add_exit(task.exit_code, rows);
  add_cgroup(task.cgroup, rows);
}

// Its rows are made by the first scan. Their values from events are read when the first of them is
// asked for, so that a query without them reads no events.
class TaskTable : public QueryTable {
 public:
  using List = const Tasks& (TaskHistory::*)() const;
  using Add = void (*)(uint32_t id, const Task& task, StoredRows& rows);

  TaskTable(const History& history, std::string name, std::string doc, std::vector<Column> columns,
            List list, Add add)
      : QueryTable(std::move(name), std::move(doc)),
        history_(history),
        list_(list),
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
                                              const std::atomic<bool>& stop) const override {
    store();
    const bool threads = columns_.front().limits == Limits::tid;
    return std::make_unique<Scan>(*this, stop, threads ? limits.tids : limits.pids);
  }

 private:
  class Scan : public SortedScan {
   public:
    Scan(const TaskTable& table, const std::atomic<bool>& stop,
         std::optional<std::vector<uint32_t>> keys)
        : SortedScan(table.stored_, std::move(keys)), table_(table), stop_(stop) {}
    Value value(size_t column) override {
      if (std::ranges::find(kOfEvents, table_.columns_[column].name) != kOfEvents.end())
        table_.complete(stop_);
      return SortedScan::value(column);
    }

   private:
    const TaskTable& table_;
    const std::atomic<bool>& stop_;
  };

  void store() const {
    if (tasks_) return;
    tasks_.emplace(history_);
    make_rows();
  }
  // The rows stay the same ones, in the same order: only their values change.
  void complete(const std::atomic<bool>& stop) const {
    if (complete_ || !tasks_->read_events(stop)) return;
    complete_ = true;
    make_rows();
  }
  void make_rows() const {
    stored_.clear();
    for (const auto& [key, task] : ((*tasks_).*list_)()) add_(key.first, task, stored_);
  }

  const History& history_;
  List list_;
  Add add_;
  mutable std::optional<TaskHistory> tasks_;
  mutable bool complete_ = false;
  mutable StoredRows stored_;
};

// A thread's change of its control group.
struct Move {
  TaskName task;  // after it
  std::string from, to;
  std::optional<uint64_t> wall_ns;
};
// By time and thread: overlapping traces have the same ones.
using Moves = std::map<std::pair<uint64_t, uint32_t>, Move>;

void add_moves(const TraceReader& trace, Moves& moves) {
  const NameTable& names = trace.names();
  const int64_t offset = trace.manifest().origin.clock_offset_ns;
  names.for_each_task([&](uint32_t tid, const std::vector<TaskName>& versions) {
    for (size_t i = 1; i < versions.size(); ++i) {
      const TaskName &before = versions[i - 1], &after = versions[i];
      if (before.tgid == 0 || after.tgid == 0 || before.start_time != after.start_time) continue;
      if (before.cgroup == 0 || before.cgroup == after.cgroup) continue;
      std::optional<uint64_t> wall;
      if (offset != 0) wall = after.since + static_cast<uint64_t>(offset);
      moves.try_emplace({after.since, tid},
                        Move{.task = after,
                             .from = std::string(names.cgroup_path(before.cgroup)),
                             .to = std::string(names.cgroup_path(after.cgroup)),
                             .wall_ns = wall});
    }
  });
}

// Its rows are made by the first scan.
class MoveTable : public QueryTable {
 public:
  MoveTable(const History& history, std::vector<Column> columns)
      : QueryTable("cgroup_moves", "threads and processes that changed their control group"),
        history_(history),
        stored_(columns.size()) {
    columns_ = std::move(columns);
  }
  [[nodiscard]] uint64_t rows() const override { return stored().size(); }
  [[nodiscard]] uint64_t records() const override { return 1; }
  [[nodiscard]] std::optional<uint64_t> row_count() const override { return rows(); }
  [[nodiscard]] std::unique_ptr<RowScan> scan(const ScanLimits& /*limits*/,
                                              const std::atomic<bool>& /*stop*/) const override {
    return std::make_unique<SortedScan>(stored(), std::nullopt);
  }

 private:
  const StoredRows& stored() const {
    if (std::exchange(read_, true)) return stored_;
    Moves moves;
    for (const TraceReader& trace : history_.traces()) add_moves(trace, moves);
    for (const auto& [key, move] : moves) {
      stored_.integer(key.first);
      stored_.wall(move.wall_ns);
      stored_.integer(key.second);
      stored_.integer(move.task.tgid);
      stored_.text(move.task.comm());
      add_text(move.from, stored_);
      add_cgroup(move.to, stored_);
    }
    return stored_;
  }

  const History& history_;
  mutable bool read_ = false;
  mutable StoredRows stored_;
};

void add_cgroup_columns(std::vector<Column>& columns, const char* cgroup) {
  columns.push_back({.name = "cgroup", .is_text = true, .doc = cgroup});
  columns.push_back({.name = "container", .is_text = true, .doc = "id of the group's container"});
  columns.push_back(
      {.name = "pod", .is_text = true, .doc = "uid of the container's Kubernetes pod"});
}

}  // namespace

std::unique_ptr<QueryTable> threads_table(const TableInput& input) {
  std::vector<Column> columns = {
      {.name = "tid", .doc = "the thread", .limits = Limits::tid},
      {.name = "pid", .doc = "its process", .limits = Limits::pid},
      {.name = "comm", .is_text = true, .doc = "its last name"},
      {.name = "uid", .doc = "its user"},
      {.name = "start_ts", .doc = "when it began: ns since boot"},
      {.name = "end_ts", .doc = "when it ended; NULL if the trace does not say so"}};
  add_cgroup_columns(columns, "path of its control group, the last one known");
  return std::make_unique<TaskTable>(input.history, "threads", "all threads that the traces know",
                                     std::move(columns), &TaskHistory::threads, add_thread);
}

std::unique_ptr<QueryTable> processes_table(const TableInput& input) {
  std::vector<Column> columns = {
      {.name = "pid", .doc = "the process", .limits = Limits::pid},
      {.name = "comm", .is_text = true, .doc = "the last name of its main thread"},
      {.name = "uid", .doc = "its user"},
      {.name = "start_ts", .doc = "when it began: ns since boot"},
      {.name = "end_ts", .doc = "when its last thread ended; NULL if the trace does not say so"},
      {.name = "threads", .doc = "its threads that the traces know"},
      {.name = "parent_pid", .doc = "the process that started it; NULL if that is not known"},
      {.name = "argv", .is_text = true, .doc = "arguments of the last program that it ran"},
      {.name = "exit_status", .doc = "how it ended; NULL if a signal ended it"},
      {.name = "exit_signal", .is_text = true, .doc = "SIGKILL …; NULL if no signal ended it"}};
  add_cgroup_columns(columns, "path of its control group, the last one known");
  return std::make_unique<TaskTable>(input.history, "processes",
                                     "all processes that the traces know", std::move(columns),
                                     &TaskHistory::processes, add_process);
}

std::unique_ptr<QueryTable> cgroup_moves_table(const TableInput& input) {
  std::vector<Column> columns = {
      {.name = "ts", .doc = "when it was moved: ns since boot"},
      {.name = "wall", .is_text = true, .doc = "the same as wall-clock time, UTC"},
      {.name = "tid", .doc = "the thread; a main thread stands for all of its process"},
      {.name = "pid", .doc = "its process"},
      {.name = "comm", .is_text = true, .doc = "its name"},
      {.name = "from_cgroup", .is_text = true, .doc = "path of the control group before"}};
  add_cgroup_columns(columns, "path of the control group after");
  return std::make_unique<MoveTable>(input.history, std::move(columns));
}

}  // namespace ktraced
