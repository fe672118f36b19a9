// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/tables/event_tables.h"

#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <string>
#include <utility>

#include "ctl/selection/wall_clocks.h"
#include "ctl/tables/event_columns.h"
#include "ctl/tables/event_scan.h"

namespace ktraced {
namespace {

class EventsTable : public QueryTable {
 public:
  // All events if `event` is empty.
  EventsTable(const TableInput& input, std::string name, std::string event, std::string doc,
              std::vector<EventColumn> columns)
      : QueryTable(std::move(name), std::move(doc)),
        input_(input),
        event_(std::move(event)),
        access_(std::move(columns)) {
    for (const EventColumn& each : access_) columns_.push_back(each.column);
    rows_ = records_in(input.history, event_);
    records_ = records_in(input.history);
    span_ = {.begin_ns = UINT64_MAX, .end_ns = 0};
    for (const TraceReader& trace : input.history.traces())
      span_ = {.begin_ns = std::min(span_.begin_ns, trace.begin_ns()),
               .end_ns = std::max(span_.end_ns, trace.end_ns())};
  }
  [[nodiscard]] std::optional<size_t> order() const override { return 0; }
  [[nodiscard]] Span span() const override { return span_; }
  [[nodiscard]] uint64_t rows() const override { return rows_; }
  [[nodiscard]] uint64_t records() const override { return records_; }
  [[nodiscard]] std::optional<uint64_t> row_count() const override;
  [[nodiscard]] std::string refusal() const override {
    const std::array<std::string_view, 1> event = {event_};
    return event_.empty() ? "" : input_.refusal(name(), event);
  }
  [[nodiscard]] std::vector<std::string> take_needs() override {
    return std::vector<std::string>(event_.empty() ? 0 : 1, event_);
  }
  [[nodiscard]] std::unique_ptr<RowScan> scan(const ScanLimits& limits,
                                              const std::atomic<bool>& stop) const override {
    return std::make_unique<EventScan>(input_, event_, access_, with_wall(limits, input_.history),
                                       stop);
  }

 private:
  TableInput input_;
  std::string event_;
  std::vector<EventColumn> access_;
  uint64_t rows_, records_;
  Span span_;
};

// The manifests do not say how many events an unfinished trace, several traces with common records,
// a window or a selection have.
std::optional<uint64_t> EventsTable::row_count() const {
  const auto& traces = input_.history.traces();
  if (traces.size() != 1 || traces.front().unfinished() || !input_.history.window().is_all() ||
      !input_.selections.empty())
    return std::nullopt;
  return rows_;
}

bool have_stacks(const History& history) {
  return std::ranges::any_of(history.traces(),
                             [](const TraceReader& trace) { return trace.schema().stacks; });
}

// Those of cpu_sample, with the name of the mode alone.
std::vector<EventColumn> columns_of_samples(std::vector<EventColumn> columns) {
  const auto is_mode = [](const EventColumn& column) { return column.field == "mode"; };
  std::erase_if(columns, [&](const EventColumn& column) {
    return is_mode(column) && column.value == EventValue::number;
  });
  for (EventColumn& mode : columns | std::views::filter(is_mode)) {
    mode.column.name = "mode";
    mode.column.doc = "user, kernel, idle, guest or kernel_thread; NULL: unknown";
  }
  return columns;
}

std::vector<EventColumn> columns_of_all(bool stacks) {
  std::vector<EventColumn> columns = common_columns(stacks);
  columns.push_back({.column = {.name = "event",
                                .is_text = true,
                                .doc = "its name, which is also that of its own table",
                                .limits = Limits::event},
                     .value = EventValue::event});
  columns.push_back({.column = {.name = "args",
                                .is_text = true,
                                .doc = "its fields as JSON, as 'show --format json' prints them"},
                     .value = EventValue::args});
  return columns;
}

}  // namespace

ScanLimits with_wall(ScanLimits limits, const History& history) {
  if (limits.begin_wall_ns == 0 && limits.end_wall_ns == UINT64_MAX) return limits;
  uint64_t begin = UINT64_MAX, end = 0;
  for (const TraceReader& trace : history.traces()) {
    const int64_t offset = trace.manifest().origin.clock_offset_ns;
    if (offset == 0) continue;  // its events have no such time
    begin = std::min(begin, boottime_at(limits.begin_wall_ns, offset));
    end = std::max(end, boottime_at(limits.end_wall_ns, offset));
  }
  if (begin > end) return limits;
  limits.begin_ns = std::max(limits.begin_ns, begin);
  limits.end_ns = std::min(limits.end_ns, end);
  return limits;
}

uint64_t records_in(const History& history, std::string_view name) {
  uint64_t records = 0;
  for (const TraceReader& trace : history.traces())
    for (const CpuAccount& cpu : trace.manifest().cpus)
      for (const auto& [event, account] : cpu.events)
        if (name.empty() || event == name) records += account.records;
  return records;
}

std::vector<std::unique_ptr<QueryTable>> event_tables(const TableInput& input) {
  std::map<std::string, std::vector<const Event*>> versions;
  for (const TraceReader& trace : input.history.traces())
    for (const Event& event : trace.schema().events()) versions[event.name].push_back(&event);
  std::vector<std::unique_ptr<QueryTable>> tables;
  const bool stacks = have_stacks(input.history);
  tables.push_back(
      std::make_unique<EventsTable>(input, "events", "", "all events", columns_of_all(stacks)));
  for (const auto& [name, events] : versions) {
    const Event* last = events.back();
    tables.push_back(std::make_unique<EventsTable>(
        input, name, name, last->doc.empty() ? "an event of the kernel" : last->doc,
        columns_of(events, stacks)));
    if (name == "cpu_sample")
      tables.push_back(std::make_unique<EventsTable>(
          input, "samples", name, "what CPUs did when they were sampled",
          columns_of_samples(columns_of(events, stacks))));
  }
  return tables;
}

}  // namespace ktraced
