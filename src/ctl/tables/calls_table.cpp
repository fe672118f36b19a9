// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include "ctl/tables/analysis_scan.h"
#include "ctl/tables/event_tables.h"
#include "ctl/tables/interval_names.h"
#include "ctl/tables/tables.h"
#include "schema/names.h"

namespace ktraced {
namespace {

constexpr std::string_view kCallUses[] = {"sys_enter", "sys_exit", "sys_completed",
                                          "sched_process_exec", "sched_process_exit"};
constexpr std::string_view kCallNeeds[] = {"sys_enter", "sys_exit"};
constexpr std::string_view kCallRows[] = {"sys_exit", "sys_completed"};

class CallScan : public AnalysisScan, public CallSink {
 public:
  CallScan(const TableInput& input, const std::vector<Column>& columns, const ScanLimits& limits,
           const std::atomic<bool>& stop)
      : AnalysisScan(input, columns, limits, stop, can_begin_late(input)) {
    calls_.add_sink(*this);
  }

  void on_begin(const Call& /*call*/, const CallRecord& /*at*/, Unknown /*unknown*/) override {}
  void on_end(const CallInterval& interval) override {
    if (interval.end == CallEnd::other_returned && interval.returned->met == kAllMet)
      add(other_call_of(interval));
    if (interval.end != CallEnd::child_returned && interval.selected()) add(interval);
  }

 private:
  // The call that returned instead: its beginning is not in the trace.
  static CallInterval other_call_of(const CallInterval& interval) {
    CallInterval other = interval;
    other.call = nullptr;
    other.end = CallEnd::returned;
    return other;
  }
  void add(const CallInterval& interval) {
    const Call* call = interval.call;
    const CallReturn* returned = interval.end == CallEnd::returned ? interval.returned : nullptr;
    const bool ended = returned != nullptr || interval.end == CallEnd::thread_ended;
    add_times(call != nullptr ? std::optional(call->begin_ns) : std::nullopt,
              ended ? std::optional(interval.end_ns) : std::nullopt, interval.known());
    rows().integer(returned != nullptr ? std::optional<uint64_t>(returned->at.from.cpu)
                                       : std::nullopt);
    add_task(interval.tid, call != nullptr ? call->begin_ns : interval.end_ns, std::nullopt);
    add_call(call, returned);
    rows().name(name_of(interval.end));
    rows().name(name_of(interval.unknown));
  }
  void add_call(const Call* call, const CallReturn* returned) {
    const uint32_t abi = call != nullptr ? call->abi : returned->abi;
    const int32_t nr = call != nullptr ? call->nr : returned->nr;
    rows().integer(static_cast<uint64_t>(nr));
    rows().name(syscall_name(abi, nr));
    rows().integer(abi);
    if (returned != nullptr) {
      rows().integer(static_cast<uint64_t>(returned->ret));
      rows().name(errno_name(returned->error()));
    } else {
      rows().null();
      rows().null();
    }
    for (size_t i = 0; i < std::tuple_size_v<decltype(Call::args)>; ++i)
      rows().integer(call != nullptr && call->args_known ? std::optional(call->args[i])
                                                         : std::nullopt);
  }
  [[nodiscard]] bool is_open(uint64_t ns) const override { return calls_.is_open(ns); }
  [[nodiscard]] Analysis& analysis() override { return calls_; }
  void finish(TraceInput& input) override { calls_.finish(input.facts({}).end_ns); }

  CallTracker calls_;
};

}  // namespace

std::unique_ptr<QueryTable> calls_table(const TableInput& input) {
  std::vector<Column> columns;
  add_time_columns(columns, "when it began; NULL if that is not in the trace",
                   "when it returned, or its thread ended");
  columns.push_back({.name = "cpu", .doc = "on which it returned", .limits = Limits::cpu});
  add_task_columns(columns);
  columns.push_back({.name = "nr", .doc = "the number of the call"});
  columns.push_back({.name = "syscall", .is_text = true, .doc = "its name"});
  columns.push_back({.name = "abi", .doc = "0: x86_64, 1: i386, 2: x32"});
  columns.push_back({.name = "ret", .doc = "what it returned"});
  columns.push_back({.name = "error", .is_text = true, .doc = "ENOENT …; NULL if it succeeded"});
  for (int i = 0; i < 6; ++i)
    columns.push_back({.name = fmt::format("args_{}", i), .doc = "an argument"});
  columns.push_back({.name = "outcome",
                     .is_text = true,
                     .doc = "returned, thread_ended, unseen, evicted or trace_end"});
  columns.push_back(
      {.name = "unknown", .is_text = true, .doc = "why dur is NULL: lost, config_change …"});
  return std::make_unique<AnalysisTable<CallScan>>(
      input, "calls", "system calls from entry to exit", std::move(columns), kCallUses, kCallNeeds,
      kCallRows);
}

}  // namespace ktraced
