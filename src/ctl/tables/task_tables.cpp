// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/coverage/task_history.h"
#include "ctl/selection/selected_tasks.h"
#include "ctl/tables/stored_rows.h"
#include "ctl/tables/tables.h"
#include "schema/names.h"
#include "trace/metadata/container.h"

namespace ktraced {
namespace {

// A column whose values come from an event; the others come from the names of tasks.
struct OfEvent {
  std::string_view column, event;
};
constexpr std::array<OfEvent, 7> kOfEvents = {{{"end_ts", "sched_process_exit"},
                                               {"alive", "sched_process_exit"},
                                               {"parent_pid", "sched_process_fork"},
                                               {"argv", "sched_process_exec"},
                                               {"argv_read_ts", "sched_process_exec"},
                                               {"exit_status", "sched_process_exit"},
                                               {"exit_signal", "sched_process_exit"}}};

// A time or an id that is 0 if it is unknown.
std::optional<uint64_t> known(uint64_t number) {
  return number != 0 ? std::optional(number) : std::nullopt;
}

void add_text(std::string_view text, StoredRows& rows) {
  if (text.empty())
    rows.null();
  else
    rows.text(text);
}

// Fills the columns of add_cgroup_columns().
void add_cgroup(uint64_t id, std::string_view path, StoredRows& rows) {
  const auto container = container_of(path);
  add_text(path, rows);
  rows.integer(known(id));
  add_text(container ? container->id : std::string_view(), rows);
  add_text(container ? container->pod : std::string_view(), rows);
}

void add_exit(const std::optional<int32_t>& exit_code, StoredRows& rows) {
  const ExitStatus end = decode_exit_code(exit_code.value_or(0));
  rows.integer(exit_code && end.signal == 0 ? std::optional(static_cast<uint64_t>(end.status))
                                            : std::nullopt);
  rows.name(exit_code ? signal_name(end.signal) : std::string_view());
}

void add_thread(uint32_t tid, const Task& task, uint64_t at_ns, StoredRows& rows) {
  rows.integer(tid);
  rows.integer(task.pid);
  rows.text(std::string_view(task.comm));
  rows.integer(task.uid);
  rows.integer(known(task.start_ns));
  rows.integer(known(task.end_ns));
  rows.integer(lives_at(task, at_ns) ? 1U : 0U);
  add_cgroup(task.cgroup_id, task.cgroup, rows);
}

void add_process(uint32_t pid, const Task& task, uint64_t at_ns, StoredRows& rows) {
  rows.integer(pid);
  rows.text(std::string_view(task.comm));
  rows.integer(task.uid);
  rows.integer(known(task.start_ns));
  rows.integer(known(task.end_ns));
  rows.integer(lives_at(task, at_ns) ? 1U : 0U);
  rows.integer(task.threads);
  rows.integer(task.parent_pid ? std::optional<uint64_t>(*task.parent_pid) : std::nullopt);
  if (task.argv)
    rows.text(std::string_view(*task.argv));
  else
    rows.null();
  rows.integer(known(task.argv_read_ns));
  add_exit(task.exit_code, rows);
  add_cgroup(task.cgroup_id, task.cgroup, rows);
}

// The tables of threads and of processes. The first scan makes the rows. Their values from events
// are read when the first of them is asked for, so that a query without them reads no events; but
// in a window at once, because who has ended before it has no row.
class TaskTable : public QueryTable {
 public:
  enum class Of : uint8_t { threads, processes };
  // `at_ns`: the end of the window.
  using Add = void (*)(uint32_t id, const Task& task, uint64_t at_ns, StoredRows& rows);

  TaskTable(const TableInput& input, std::string name, std::string doc, std::vector<Column> columns,
            Of of, Add add)
      : QueryTable(std::move(name), std::move(doc)),
        input_(input),
        of_(of),
        add_(add),
        stored_(columns.size()) {
    columns_ = std::move(columns);
    for (const Column& column : columns_) {
      const auto found = std::ranges::find(kOfEvents, column.name, &OfEvent::column);
      events_.push_back(found != kOfEvents.end() ? found->event : std::string_view());
    }
  }
  [[nodiscard]] uint64_t rows() const override {
    uint64_t count = 0;
    for (const TraceReader& trace : input_.history.traces()) count += trace.names().task_count();
    return count;
  }
  [[nodiscard]] uint64_t records() const override { return 0; }
  [[nodiscard]] std::vector<std::string> take_needs() override { return std::exchange(needs_, {}); }
  [[nodiscard]] std::optional<uint64_t> row_count() const override {
    static const std::atomic<bool> kNever = false;
    store(kNever);
    return stored_.size();
  }
  [[nodiscard]] std::unique_ptr<RowScan> scan(const ScanLimits& limits,
                                              const std::atomic<bool>& stop) const override {
    store(stop);
    if (input_.use != nullptr && tasks_ && !selected_->is_all())
      input_.use->note(stored_.size() != 0 ? kAllMet : Selection::no_task_met());
    return std::make_unique<Scan>(*this, stop, of_ == Of::threads ? limits.tids : limits.pids);
  }

 private:
  class Scan : public SortedScan {
   public:
    Scan(const TaskTable& table, const std::atomic<bool>& stop,
         std::optional<std::vector<uint32_t>> keys)
        : SortedScan(table.stored_, std::move(keys)),
          table_(table),
          stop_(stop),
          unread_(table.events_) {}
    Value value(size_t column) override {
      if (const auto event = std::exchange(unread_[column], {}); !event.empty())
        table_.complete(event, stop_);
      return SortedScan::value(column);
    }

   private:
    const TaskTable& table_;
    const std::atomic<bool>& stop_;
    std::vector<std::string_view> unread_;  // events_ of the columns that this scan has not read
  };

  void store(const std::atomic<bool>& stop) const {
    if (tasks_) return;
    tasks_.emplace(input_.history);
    selected_.emplace(input_.history, input_.selections);
    complete_ = !input_.history.window().is_all() && tasks_->read_events(stop);
    if (stop) return tasks_.reset();
    make_rows();
  }
  // The rows stay the same ones, in the same order: only their values change.
  void complete(std::string_view event, const std::atomic<bool>& stop) const {
    if (std::ranges::find(needs_, event) == needs_.end()) needs_.emplace_back(event);
    if (complete_ || !tasks_ || !tasks_->read_events(stop)) return;
    complete_ = true;
    make_rows();
  }
  void make_rows() const {
    stored_.clear();
    const uint64_t end_ns = input_.history.window().end_ns;
    if (of_ == Of::threads) {
      for (const auto& thread : tasks_->threads())
        if (selected_->has_thread(thread)) add_(thread.first.first, thread.second, end_ns, stored_);
      return;
    }
    const auto selected = selected_->processes_of(*tasks_);
    for (const auto& [key, process] : tasks_->processes())
      if (selected.contains(key)) add_(key.first, process, end_ns, stored_);
  }

  TableInput input_;
  Of of_;
  Add add_;
  std::vector<std::string_view> events_;  // by column; empty: its values come from names
  mutable std::optional<TaskHistory> tasks_;
  mutable std::optional<SelectedTasks> selected_;
  mutable bool complete_ = false;
  mutable std::vector<std::string> needs_;  // events of the columns that were read
  mutable StoredRows stored_;
};

// A thread's change of its control group.
struct Move {
  TaskName task;  // after it
  uint64_t from_id = 0;
  std::string from, to;
  std::optional<uint64_t> wall_ns;
};
// Moves by time and thread, because overlapping traces have common ones.
using Moves = std::map<std::pair<uint64_t, uint32_t>, Move>;

// Adds the moves in the window of threads that `selection` selects before or after the move; null:
// of all threads.
void add_moves(const TraceReader& trace, const TimeWindow& window, const Selection* selection,
               Moves& moves) {
  const NameTable& names = trace.names();
  const auto is_selected = [&](uint32_t tid, uint64_t ts) {
    return selection == nullptr || selection->wants_task(tid, ts, 0, names) ||
           selection->wants_task(tid, ts - 1, 0, names);
  };
  const int64_t offset = trace.manifest().origin.clock_offset_ns;
  names.for_each_task([&](uint32_t tid, const std::vector<TaskName>& versions) {
    for (size_t i = 1; i < versions.size(); ++i) {
      const TaskName &before = versions[i - 1], &after = versions[i];
      if (before.tgid == 0 || after.tgid == 0 || before.start_time != after.start_time) continue;
      if (before.cgroup == 0 || before.cgroup == after.cgroup) continue;
      if (!window.contains(after.since) || !is_selected(tid, after.since)) continue;
      std::optional<uint64_t> wall;
      if (offset != 0) wall = after.since + static_cast<uint64_t>(offset);
      moves.try_emplace({after.since, tid},
                        Move{.task = after,
                             .from_id = before.cgroup,
                             .from = std::string(names.cgroup_path(before.cgroup)),
                             .to = std::string(names.cgroup_path(after.cgroup)),
                             .wall_ns = wall});
    }
  });
}

// The table cgroup_moves. The first scan makes its rows.
class MoveTable : public QueryTable {
 public:
  MoveTable(const TableInput& input, std::vector<Column> columns)
      : QueryTable("cgroup_moves", "threads and processes that changed their control group"),
        input_(input),
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
    const auto& traces = input_.history.traces();
    for (size_t i = 0; i < traces.size(); ++i)
      add_moves(traces[i], input_.history.window(),
                input_.selections.empty() ? nullptr : &input_.selections[i], moves);
    for (const auto& [key, move] : moves) {
      stored_.integer(key.first);
      stored_.wall(move.wall_ns);
      stored_.integer(key.second);
      stored_.integer(move.task.tgid);
      stored_.text(move.task.comm());
      add_text(move.from, stored_);
      stored_.integer(move.from_id);
      add_cgroup(move.task.cgroup, move.to, stored_);
    }
    return stored_;
  }

  TableInput input_;
  mutable bool read_ = false;
  mutable StoredRows stored_;
};

void add_cgroup_columns(std::vector<Column>& columns, const char* cgroup) {
  columns.push_back({.name = "cgroup", .is_text = true, .doc = cgroup});
  columns.push_back({.name = "cgroup_id", .doc = "id of this group, which --cgroup takes too"});
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
      {.name = "end_ts", .doc = "when it ended; NULL if the trace does not say so"},
      {.name = "alive", .doc = "1: it lives at the end; 0: it has ended before"}};
  add_cgroup_columns(columns, "path of its control group, the last one known");
  return std::make_unique<TaskTable>(input, "threads", "all threads that the traces know",
                                     std::move(columns), TaskTable::Of::threads, add_thread);
}

std::unique_ptr<QueryTable> processes_table(const TableInput& input) {
  std::vector<Column> columns = {
      {.name = "pid", .doc = "the process", .limits = Limits::pid},
      {.name = "comm", .is_text = true, .doc = "the last name of its main thread"},
      {.name = "uid", .doc = "its user"},
      {.name = "start_ts", .doc = "when it began: ns since boot"},
      {.name = "end_ts", .doc = "when its last thread ended; NULL if the trace does not say so"},
      {.name = "alive", .doc = "1: it lives at the end; 0: it has ended before"},
      {.name = "threads", .doc = "its threads that the traces know"},
      {.name = "parent_pid", .doc = "the process that started it; NULL if that is not known"},
      {.name = "argv", .is_text = true, .doc = "arguments of the last program that it ran"},
      {.name = "argv_read_ts", .doc = "when the daemon read argv; NULL: it is of an exec"},
      {.name = "exit_status",
       .doc = "how it ended, as wait(2) gives it; NULL if a signal ended it"},
      {.name = "exit_signal", .is_text = true, .doc = "SIGKILL …; NULL if no signal ended it"}};
  add_cgroup_columns(columns, "path of its control group, the last one known");
  return std::make_unique<TaskTable>(input, "processes", "all processes that the traces know",
                                     std::move(columns), TaskTable::Of::processes, add_process);
}

std::unique_ptr<QueryTable> cgroup_moves_table(const TableInput& input) {
  std::vector<Column> columns = {
      {.name = "ts", .doc = "when it was moved: ns since boot"},
      {.name = "wall", .is_text = true, .doc = "the same as wall-clock time, UTC"},
      {.name = "tid", .doc = "the thread; a main thread stands for all of its process"},
      {.name = "pid", .doc = "its process"},
      {.name = "comm", .is_text = true, .doc = "its name"},
      {.name = "from_cgroup", .is_text = true, .doc = "path of the control group before"},
      {.name = "from_cgroup_id", .doc = "id of the control group before"}};
  add_cgroup_columns(columns, "path of the control group after");
  return std::make_unique<MoveTable>(input, std::move(columns));
}

}  // namespace ktraced
