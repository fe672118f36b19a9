// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/reports/syscall_report.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "analysis/coverage/call_result.h"
#include "ctl/input/report_text.h"
#include "ctl/reports/actor_json.h"
#include "ctl/reports/call_names.h"
#include "ctl/reports/latency_json.h"
#include "ctl/reports/stack_reports.h"

namespace ktraced {
namespace {

using nlohmann::json;
// Nothing: no call of the row has a time. It is sorted after all rows that have one.
using SyscallNumber = std::optional<uint64_t>;
using SyscallValue = SyscallNumber (*)(const SyscallRow& row);

constexpr TreeUnit kTime = {.name = "ns",
                            .of = &StackWeight::ns,
                            .kind = CellKind::duration,
                            .title = "TOTAL",
                            .events = "CALLS"};

SyscallNumber if_timed(const SyscallRow& row, uint64_t value) {
  return row.ns.count() != 0 ? SyscallNumber(value) : std::nullopt;
}

constexpr std::pair<const char*, SyscallValue> kSyscallKeys[] = {
    {"time", [](const SyscallRow& row) { return if_timed(row, row.ns.sum()); }},
    {"count", [](const SyscallRow& row) { return SyscallNumber(row.calls); }},
    {"errors", [](const SyscallRow& row) { return SyscallNumber(row.failed); }},
    {"max", [](const SyscallRow& row) { return if_timed(row, row.ns.max()); }},
};

json call_row_json(const SyscallRow& row) {
  json out = {{"calls", row.calls},           {"first_ns", row.first_ns},
              {"failed", row.failed},         {"errors", errors_json(row.errors)},
              {"time", latency_json(row.ns)}, {"histogram", histogram_json(row.ns)}};
  if (row.others)
    out["others"] = true;
  else
    out["syscall"] = syscall_text(row.abi, row.nr);
  return out;
}

json call_rows_json(const std::vector<SyscallRow>& all, SyscallValue value,
                    const ReportCommand& command, bool with_process) {
  const auto before = [value](const SyscallRow& a, const SyscallRow& b) {
    return std::pair(value(b), b.calls) < std::pair(value(a), a.calls);
  };
  return first_rows(all, command.top, before, [with_process](const SyscallRow& row) {
    json out = call_row_json(row);
    if (with_process && !row.others) out.update(actor_json(row));
    return out;
  });
}

json call_json(const SyscallCall& call) {
  json args = json::array();
  if (call.args_known)
    for (const uint64_t arg : call.args) args.push_back(fmt::format("{:#x}", arg));
  json out = {{"ts", call.begin_ns},
              {"ns", call.ns},
              {"tid", call.tid},
              {"comm", comm_json(call.comm)},
              {"syscall", syscall_text(call.abi, call.nr)},
              {"args", std::move(args)},
              {"ret", call.ret}};
  if (const int32_t error = error_of_result(call.ret); error != 0) out["error"] = error_text(error);
  return out;
}

// Of all other calls nothing: their call says that.
std::string call_process(const json& row, const json& /*report*/) {
  return flag_at(row, "others") ? "" : actor_name(row);
}

std::string whole_call(const json& call, const json& /*report*/) {
  std::string arguments;
  for (const std::string& arg : texts_at(call, "args"))
    arguments += (arguments.empty() ? "" : ", ") + arg;
  if (arguments.empty()) arguments = "?";
  const std::string error = text_at(call, "error");
  return fmt::format("{}({}) = {}{}", text_at(call, "syscall"), arguments,
                     call["ret"].get<int64_t>(), error.empty() ? "" : " " + error);
}

// The distributions of the first rows.
std::string histograms_text(const json& table, const Colours& colours) {
  constexpr size_t kDrawn = 3;
  std::string out;
  size_t drawn = 0;
  for (const json& row : list_at(table, "rows")) {
    if (flag_at(row, "others") || list_at(row, "histogram").empty()) continue;
    if (drawn++ == kDrawn) break;
    out += colours.bold("HOW LONG " + text_at(row, "syscall") + " TOOK, FROM") + "\n" +
           histogram_text(member(row, "histogram"), colours.on()) + "\n";
  }
  return out;
}

std::string syscall_notes(const json& report) {
  return notes_text(
             report,
             {{"running", "calls had not returned at the end"},
              {"killed", "calls did not return, because their thread was ended by others"},
              {"begun_before",
               "calls began before the window, or their beginning is missing: counted, not timed"},
              {"end_unseen", "calls have no end in the trace although their thread went on"},
              {"not_followed", "calls were counted but not timed: too many were running at once"},
              {"lost", "events were lost: beginnings and ends of calls"},
              {"uncertain", "calls ran while something was lost or changed: counted, not timed"}}) +
         caveats_text(report);
}

}  // namespace

const std::vector<ReportTable>& syscall_tables() {
  using namespace columns;
  static const TableColumns kCalls =
      make_columns(text("syscall", "SYSTEM CALL", call_text), count("calls", "CALLS"), "failed",
                   "errors", "time.count", latency("time.total_ns", "TOTAL"),
                   latency("time.mean_ns", "MEAN"), latency("time.p50_ns", "50 %"),
                   latency("time.p90_ns", "90 %"), latency("time.p99_ns", "99 %"),
                   latency("time.max_ns", "LONGEST"), text("", "ERRORS", errors_text), "others");
  static const std::vector<ReportTable> kTables = {
      {"calls", kCalls, /*even_if_empty=*/true},
      {"processes", make_columns(actor_columns(call_process), kCalls), /*even_if_empty=*/true},
      {"slowest",
       make_columns(time("ts", "BEGAN AT"), duration("ns", "TOOK"), number("tid", "THREAD"),
                    text("comm", "", comm_text), text("", "SLOWEST CALLS", whole_call), "syscall",
                    "args", "ret", "error")},
      tree_tables(kTime)[0],
      tree_tables(kTime)[1]};
  return kTables;
}

std::vector<std::string> syscall_sort_keys() { return key_names(kSyscallKeys); }

json syscall_report(const SyscallAnalysis& analysis, const ReportCommand& command) {
  const auto& key = key_named(kSyscallKeys, command.by);
  json slowest = json::array();
  for (const SyscallCall& call : analysis.slowest()) slowest.push_back(call_json(call));
  return {{"by", key.first},
          {"calls", call_rows_json(analysis.by_call(), key.second, command, false)},
          {"processes", call_rows_json(analysis.by_process(), key.second, command, true)},
          {"slowest", std::move(slowest)},
          {"running", analysis.running()},
          {"ended", analysis.ended()},
          {"killed", analysis.killed()},
          {"child_returns", analysis.child_returns()},
          {"not_followed", analysis.not_followed()},
          {"begun_before", analysis.begun_before()},
          {"end_unseen", analysis.end_unseen()},
          {"uncertain", analysis.uncertain()},
          {"lost", analysis.lost()}};
}

void add_call_stacks(json& report, const CallStacks& calls, const TraceStacks& stacks,
                     const FrameNamer& namer, const ReportCommand& command) {
  add_stack_trees(report, {.sums = calls.sums(), .stacks = stacks, .namer = namer, .unit = kTime},
                  command);
  report["stacks"]["syscall"] = command.stacks_of;
}

std::string syscall_report_text(const json& report, const Colours& colours) {
  std::string out;
  if (report.contains("tree"))
    return stack_trees_text(report, kTime, colours) + syscall_notes(report);
  for (const ReportTable& table : syscall_tables()) out += section_text(table, report, colours);
  return out + histograms_text(member(report, "calls"), colours) + syscall_notes(report);
}

}  // namespace ktraced
