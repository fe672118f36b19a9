// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/tables/tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "analysis/coverage/trace_config.h"
#include "base/text/json_access.h"
#include "base/text/json_dump.h"
#include "ctl/tables/event_tables.h"
#include "ctl/tables/stored_rows.h"
#include "schema/schema.h"

namespace ktraced {
namespace {

using nlohmann::json;

std::optional<uint64_t> wall_of(uint64_t ts, const TraceReader& trace) {
  const int64_t offset = trace.manifest().origin.clock_offset_ns;
  return offset != 0 ? std::optional(ts + static_cast<uint64_t>(offset)) : std::nullopt;
}

class LossScan : public BatchScan, public MergeSink {
 public:
  LossScan(const TableInput& input, const std::vector<Column>& columns, ScanLimits limits,
           const std::atomic<bool>& stop)
      : BatchScan(columns, std::move(limits), stop),
        history_(input.history.again()),
        selections_(input.selections) {}

  void on_record(const RecordOrigin& /*from*/, RecordView /*record*/) override {}
  void on_loss(const LossItem& loss) override {
    if (!selections_.empty() && !selections_[loss.source].wants_loss(loss.cpu, loss.event_id))
      return;
    const TraceReader& trace = history_.traces()[loss.source];
    rows().integer(loss.ts);
    rows().wall(wall_of(loss.ts, trace));
    rows().integer(loss.cpu);
    rows().text(std::string_view(event_name(trace.schema(), loss.event_id)));
    rows().integer(loss.count);
  }

 private:
  bool add_rows(StoredRows& /*rows*/) override { return history_.read(*this); }

  History history_;
  std::span<const Selection> selections_;
};

class LossTable : public QueryTable {
 public:
  explicit LossTable(const TableInput& input)
      : QueryTable("losses", "events that were lost, where they are missing"), input_(input) {
    columns_ = {{.name = "ts", .doc = "lost from here to the next event of the CPU: ns since boot"},
                {.name = "wall", .is_text = true, .doc = "the same as wall-clock time, UTC"},
                {.name = "cpu", .doc = "the CPU", .limits = Limits::cpu},
                {.name = "event", .is_text = true, .doc = "the name of the event"},
                {.name = "count", .doc = "how many were lost"}};
  }
  [[nodiscard]] uint64_t rows() const override {
    uint64_t lost = 0;
    for (const TraceReader& trace : input_.history.traces()) lost += trace.manifest().total().lost;
    return lost;
  }
  [[nodiscard]] uint64_t records() const override { return records_in(input_.history) + 1; }
  [[nodiscard]] std::unique_ptr<RowScan> scan(const ScanLimits& limits,
                                              const std::atomic<bool>& stop) const override {
    return std::make_unique<LossScan>(input_, columns_, limits, stop);
  }

 private:
  TableInput input_;
};

void add_config(uint64_t ts, const json& config, const TraceReader& trace, StoredRows& rows) {
  const TraceConfig parsed = TraceConfig::of(config);
  rows.integer(ts);
  rows.wall(wall_of(ts, trace));
  rows.integer(parsed.running ? 1U : 0U);
  if (parsed.events)
    rows.text(std::string_view(fmt::format("{}", fmt::join(*parsed.events, ","))));
  else
    rows.null();
  if (parsed.syscalls.empty())
    rows.null();
  else
    rows.text(std::string_view(fmt::format("{}", fmt::join(parsed.syscalls, ","))));
  const json& filter = member(config, "filter");
  if (filter.is_object())
    rows.text(std::string_view(dump_json(filter)));
  else
    rows.null();
}

class ConfigTable : public QueryTable {
 public:
  explicit ConfigTable(const History& history)
      : QueryTable("config_changes", "what was traced: at the beginning, and after each change") {
    columns_ = {{.name = "ts", .doc = "from this time on: ns since boot"},
                {.name = "wall", .is_text = true, .doc = "the same as wall-clock time, UTC"},
                {.name = "running", .doc = "0: tracing was paused"},
                {.name = "events", .is_text = true, .doc = "enabled events, separated by commas"},
                {.name = "syscalls", .is_text = true, .doc = "only these calls; NULL: all"},
                {.name = "filter", .is_text = true, .doc = "the filter as JSON"}};
    stored_ = StoredRows(columns_.size());
    for (const TraceReader& trace : history.traces()) add_configs(trace, history.window());
  }
  [[nodiscard]] uint64_t rows() const override { return stored_.size(); }
  [[nodiscard]] std::optional<uint64_t> row_count() const override { return stored_.size(); }
  [[nodiscard]] uint64_t records() const override { return 0; }
  [[nodiscard]] std::unique_ptr<RowScan> scan(const ScanLimits& /*limits*/,
                                              const std::atomic<bool>& /*stop*/) const override {
    return std::make_unique<SortedScan>(stored_, std::nullopt);
  }

 private:
  // Adds the configs of the window, and the one from before it that still applies when it begins. A
  // trace may have changes from before it began.
  void add_configs(const TraceReader& trace, const TimeWindow& window) {
    const json& config = trace.manifest().config;
    const uint64_t begin_ns = window_of(trace.manifest()).furthest_ns;
    std::vector<std::pair<uint64_t, const json*>> since = {{begin_ns, &config}};
    for (const json& change : list_at(config, "changes"))
      since.emplace_back(std::max(number_at(change, "ns"), begin_ns), &member(change, "config"));
    for (size_t i = 0; i < since.size(); ++i) {
      const bool is_over = i + 1 < since.size()
                               ? since[i + 1].first <= std::max(window.begin_ns, begin_ns)
                               : trace.end_ns() < window.begin_ns;
      if (since[i].first <= window.end_ns && !is_over)
        add_config(since[i].first, *since[i].second, trace, stored_);
    }
  }

  StoredRows stored_{1};
};

}  // namespace

std::unique_ptr<QueryTable> losses_table(const TableInput& input) {
  return std::make_unique<LossTable>(input);
}

std::unique_ptr<QueryTable> config_changes_table(const TableInput& input) {
  return std::make_unique<ConfigTable>(input.history);
}

}  // namespace ktraced
