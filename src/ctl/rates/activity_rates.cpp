// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/rates/activity_rates.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "analysis/reports/summary_analysis.h"
#include "analysis/reports/syscall_analysis.h"
#include "ctl/reports/call_names.h"
#include "ctl/terminal/table.h"

namespace ktraced {
namespace {

double per_second(uint64_t count, double seconds) { return static_cast<double>(count) / seconds; }

// Starts over after each take(), so that processes that have ended need no memory.
class ProcessRates : public ActivityRates {
 public:
  void add_source(const Schema& schema, const NameTable& names) override {
    schema_ = &schema;
    names_ = &names;
    start_over();
  }
  void set_selector(const RecordSelector& selector) override {
    selector_ = &selector;
    if (names_ != nullptr) start_over();
  }
  void on_record(const RecordOrigin& from, RecordView record) override {
    counts_->on_record(from, record);
  }
  void on_loss(const LossItem& loss) override { counts_->on_loss(loss); }

  [[nodiscard]] TopTable take(double seconds) override {
    TopTable table{.columns = {{.title = "PROCESS", .is_text = true},
                               {.title = "EVENTS/S"},
                               {.title = "SHARE"},
                               {.title = "PID"}},
                   .rows = {}};
    if (!counts_) return table;
    const auto all = static_cast<double>(counts_->total().events);
    for (const SummaryAnalysis::Process& process : counts_->processes()) {
      const double share = 100 * static_cast<double>(process.events) / all;
      table.rows.push_back(
          {text_cell(name_of(process)),
           rate_cell(per_second(process.events, seconds)),
           {.text = fmt::format("{:.1f} %", share), .number = share},
           {.text = std::to_string(process.pid), .number = static_cast<double>(process.pid)}});
    }
    start_over();
    return table;
  }

 private:
  static std::string name_of(const SummaryAnalysis::Process& process) {
    if (process.known && process.pid == 0) return "idle";
    if (!process.comm.empty()) return process.comm;
    return process.known ? "?" : "? (a thread)";
  }
  void start_over() {
    counts_.emplace();
    counts_->add_source(*schema_, *names_);
    if (selector_ != nullptr) counts_->set_selector(*selector_);
  }

  const Schema* schema_ = nullptr;
  const NameTable* names_ = nullptr;
  const RecordSelector* selector_ = nullptr;
  std::optional<SummaryAnalysis> counts_;
};

class CallRates : public ActivityRates {
 public:
  void add_source(const Schema& schema, const NameTable& names) override {
    tracker_.add_source(schema, names);
  }
  void set_selector(const RecordSelector& selector) override { tracker_.set_selector(selector); }
  void on_record(const RecordOrigin& from, RecordView record) override {
    tracker_.on_record(from, record);
  }
  void on_loss(const LossItem& loss) override { tracker_.on_loss(loss); }
  void on_config_change(uint64_t ts, const TraceConfig& config) override {
    tracker_.on_config_change(ts, config);
  }

  [[nodiscard]] TopTable take(double seconds) override {
    TopTable table{.columns = {{.title = "SYSTEM CALL", .is_text = true},
                               {.title = "CALLS/S"},
                               {.title = "ERRORS/S"},
                               {.title = "MEAN TIME"},
                               {.title = "TIME/S"}},
                   .rows = {}};
    for (const SyscallRow& row : calls_.by_call()) {
      const Counts now{
          .calls = row.calls, .failed = row.failed, .timed = row.ns.count(), .ns = row.ns.sum()};
      Counts& before = before_[{row.abi, row.nr}];
      if (now.calls != before.calls)
        table.rows.push_back(row_of(syscall_text(row.abi, row.nr), before, now, seconds));
      before = now;
    }
    return table;
  }

 private:
  struct Counts {
    uint64_t calls = 0, failed = 0;
    uint64_t timed = 0, ns = 0;  // calls with a known duration, and the sum of these
  };

  static TopCell time_cell(double ns) {
    return {.text = ns > 0 ? duration_text(static_cast<uint64_t>(ns)) : "-", .number = ns};
  }
  static TopRow row_of(std::string_view name, const Counts& before, const Counts& now,
                       double seconds) {
    const uint64_t timed = now.timed - before.timed;
    const auto ns = static_cast<double>(now.ns - before.ns);
    return {text_cell(name), rate_cell(per_second(now.calls - before.calls, seconds)),
            rate_cell(per_second(now.failed - before.failed, seconds)),
            time_cell(timed == 0 ? 0 : ns / static_cast<double>(timed)), time_cell(ns / seconds)};
  }

  static constexpr size_t kSlowest = 1;  // not shown
  CallTracker tracker_;
  SyscallAnalysis calls_{tracker_, kSlowest};
  std::map<std::pair<uint32_t, int32_t>, Counts> before_;
};

}  // namespace

std::unique_ptr<ActivityRates> ActivityRates::of(TopView view) {
  if (view == TopView::calls) return std::make_unique<CallRates>();
  return std::make_unique<ProcessRates>();
}

}  // namespace ktraced
