// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/tables/analysis_scan.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ranges>

#include "analysis/coverage/comm.h"
#include "analysis/coverage/trace_config.h"
#include "base/text/json_access.h"

namespace ktraced {

namespace {

// The history without the records that have nothing to do with rows within the limits.
History part_of(const History& history, uint64_t begin_ns, bool begins_late) {
  History part = history.again();
  // A loss at that time may be before or behind the row.
  if (begins_late && begin_ns > 1) part.begin_at(begin_ns - 1);
  return part;
}

}  // namespace

AnalysisScan::AnalysisScan(const TableInput& input, const std::vector<Column>& columns,
                           const ScanLimits& limits, const std::atomic<bool>& stop,
                           bool begins_late)
    : BatchScan(columns, limits, stop),
      history_(input.history),
      clocks_(clock_offsets(input.history)),
      selections_(input.selections),
      use_(input.use),
      last_begin_ns_(limits.end_ns),
      last_end_ns_(limits.ended_ns),
      input_(part_of(input.history, limits.begin_ns, begins_late)) {}

AnalysisScan::~AnalysisScan() {
  if (!selector_ || use_ == nullptr) return;
  use_->read_any = true;
  use_->add(selector_->use());
}

void AnalysisScan::begin() {
  begun_ = true;
  if (selections_.empty()) return input_.begin(analysis());
  selector_.emplace(selections_);
  selected_.emplace(analysis(), selections_, *selector_);
  input_.begin(*selected_);
}

bool AnalysisScan::add_rows(StoredRows& /*rows*/) {
  if (!begun_) begin();
  if (!input_.read_more()) {
    finish(input_);
    return false;
  }
  return !is_past_limits();
}

// A row comes when it ends. So all rows that ended are there, and, if nothing is open that began
// within the limits, all that began.
bool AnalysisScan::is_past_limits() {
  const uint64_t until = input_.read_until();
  if (until > last_end_ns_) {
    input_.advance(last_end_ns_);
    return true;
  }
  return until > last_begin_ns_ && !is_open(last_begin_ns_);
}

bool AnalysisScan::has_all(std::span<const std::string> events) const {
  return selections_.empty() || selections_.front().chosen_events().empty() ||
         std::ranges::all_of(
             events, [this](const std::string& event) { return is_chosen(selections_, event); });
}

bool can_begin_late(const TableInput& input) {
  const bool by_event =
      !input.selections.empty() && !input.selections.front().chosen_events().empty();
  return !by_event && input.history.traces().size() == 1 && input.history.window().begin_ns == 0;
}

bool can_begin_late_without_filter(const TableInput& input) {
  if (!can_begin_late(input)) return false;
  const nlohmann::json& config = input.history.traces().front().manifest().config;
  if (TraceConfig::of(config).filter.any()) return false;
  return std::ranges::none_of(list_at(config, "changes"), [](const nlohmann::json& change) {
    return TraceConfig::of(member(change, "config")).filter.any();
  });
}

const TaskName* AnalysisScan::task_at(uint32_t tid, uint64_t ts) const {
  for (const TraceReader& trace : history_.traces() | std::views::reverse)
    if (const TaskName* task = trace.names().task_at(tid, ts); task != nullptr) return task;
  return nullptr;
}

void AnalysisScan::add_times(std::optional<uint64_t> begin, std::optional<uint64_t> end,
                             bool known) {
  const bool measured = known && begin && end;
  const int64_t offset = begin ? offset_at(clocks_, *begin) : 0;
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
  columns.push_back({.name = "ts", .doc = begin, .limits = Limits::time});
  columns.push_back({.name = "end_ts", .doc = end, .limits = Limits::end_time});
  columns.push_back({.name = "dur", .doc = "ns from ts to end_ts; NULL if that is not certain"});
  columns.push_back({.name = "wall",
                     .is_text = true,
                     .doc = "ts as wall-clock time, UTC",
                     .limits = Limits::wall});
}

void add_task_columns(std::vector<Column>& columns) {
  columns.push_back({.name = "tid", .doc = "the thread", .limits = Limits::tid});
  columns.push_back({.name = "pid", .doc = "its process", .limits = Limits::pid});
  columns.push_back({.name = "comm", .is_text = true, .doc = "the name of the thread"});
}

}  // namespace ktraced
