// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/rates/activity_rates.h"

#include <cstdint>
#include <map>
#include <utility>

#include "analysis/reports/syscall_analysis.h"
#include "ctl/rates/process_rates.h"
#include "ctl/rates/rates.h"
#include "ctl/reports/call_names.h"
#include "ctl/terminal/table.h"

namespace ktraced {
namespace {

double per_second(uint64_t count, double seconds) { return static_cast<double>(count) / seconds; }

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

  [[nodiscard]] TopTable take(uint64_t since_ns, uint64_t until_ns) override {
    const double seconds = seconds_between(since_ns, until_ns);
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

std::unique_ptr<ActivityRates> ActivityRates::of(TopView view, uint64_t begin_ns) {
  if (view == TopView::calls) return std::make_unique<CallRates>();
  return std::make_unique<ProcessRates>(begin_ns);
}

}  // namespace ktraced
