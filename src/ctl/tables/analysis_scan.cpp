// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/tables/analysis_scan.h"

#include <ranges>

#include "analysis/coverage/comm.h"

namespace ktraced {

bool AnalysisScan::add_rows(StoredRows& /*rows*/) {
  if (!begun_) input_.begin(analysis());
  begun_ = true;
  if (input_.read_more()) return true;
  finish(input_);
  return false;
}

const TaskName* AnalysisScan::task_at(uint32_t tid, uint64_t ts) const {
  for (const TraceReader& trace : history_.traces() | std::views::reverse)
    if (const TaskName* task = trace.names().task_at(tid, ts); task != nullptr) return task;
  return nullptr;
}

void AnalysisScan::add_times(std::optional<uint64_t> begin, std::optional<uint64_t> end,
                             bool known) {
  const bool measured = known && begin && end;
  const int64_t offset = history_.traces().front().manifest().origin.clock_offset_ns;
  rows().integer(begin);
  rows().integer(end);
  rows().integer(measured ? std::optional(*end - std::min(*begin, *end)) : std::nullopt);
  rows().wall(begin && offset != 0 ? std::optional(*begin + static_cast<uint64_t>(offset))
                                   : std::nullopt);
}

void AnalysisScan::add_task(uint32_t tid, uint64_t ts, std::optional<uint32_t> cpu) {
  const TaskName* task = task_at(tid, ts);
  rows().integer(tid);
  if (task != nullptr || tid == 0)
    rows().integer(task != nullptr ? task->tgid : uint64_t{0});
  else
    rows().null();
  if (task != nullptr) return rows().text(task->comm());
  CommScratch scratch;
  if (tid != 0 || !cpu) return rows().null();
  rows().text(comm_at(history_.traces().front().names(), 0, ts, *cpu, scratch).value_or(""));
}

void add_time_columns(std::vector<Column>& columns, const char* begin, const char* end) {
  columns.push_back({.name = "ts", .doc = begin});
  columns.push_back({.name = "end_ts", .doc = end});
  columns.push_back({.name = "dur", .doc = "ns from ts to end_ts; NULL if that is not certain"});
  columns.push_back({.name = "wall", .is_text = true, .doc = "ts as wall-clock time, UTC"});
}

void add_task_columns(std::vector<Column>& columns) {
  columns.push_back({.name = "tid", .doc = "the thread", .limits = Limits::tid});
  columns.push_back({.name = "pid", .doc = "its process", .limits = Limits::pid});
  columns.push_back({.name = "comm", .is_text = true, .doc = "the name of the thread"});
}

}  // namespace ktraced
