// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include "ctl/input/report_clock.h"
#include "ctl/input/report_text.h"
#include "ctl/reports/actor_json.h"
#include "ctl/reports/process_report.h"

namespace ktraced {
namespace {

using nlohmann::json;

// "SIGTERM by bash 123", "SIGSEGV by the kernel, core dumped".
std::string signal_text(const json& end) {
  const json& signal = member(end, "signal");
  std::string name = text_at(signal, "name");
  if (name.empty()) name = fmt::format("signal {}", number_at(signal, "number"));
  const json& from = member(signal, "from");
  if (from.is_object())
    name += fmt::format(" by {}", actor_label(from));
  else if (from.is_string())
    name += " by the kernel";
  if (flag_at(signal, "core")) name += ", core dumped";
  if (flag_at(end, "oom_victim")) name += ", out of memory";
  return name;
}

std::string end_text(const json& end) {
  const std::string how = text_at(end, "how");
  if (how == "killed") return signal_text(end);
  if (how == "exited") return fmt::format("exit {}", number_at(end, "status"));
  return how == "unknown" ? "?" : how;
}

// Relative to the window.
Table::Cell start_cell(const json& row, uint64_t begin) {
  if (!row.contains("start_ns")) return {"?", true};
  const uint64_t start = number_at(row, "start_ns");
  return {start < begin ? "before" : fmt::format("+{:.6f} s", in_seconds(start - begin)), true};
}

// "at least" if the end is not known.
Table::Cell lifetime_cell(const json& row) {
  if (member(row, "lifetime_ns").is_null()) return {"?", true};
  const std::string how = text_at(member(row, "end"), "how");
  const bool at_least = how == "running" || how == "unknown";
  return {fmt::format("{}{}", at_least ? "> " : "", duration_text(number_at(row, "lifetime_ns"))),
          true};
}

std::string program_text(const json& row) {
  return printable(text_at(row, row.contains("argv") ? "argv" : "program"));
}

std::string unknown_ends_text(const json& rows) {
  std::string out;
  for (const json& row : rows) {
    const std::string because = text_at(member(row, "end"), "because");
    if (because.empty() || out.find(because) != std::string::npos) continue;
    out += fmt::format("it is not known whether processes marked with ? have ended: {}\n", because);
  }
  return out;
}

std::vector<Table::Cell> lifetime_headings(const ReportClock& clock, const Colours& colours) {
  std::vector<Table::Cell> head{heading("PID", true, colours), heading("PROCESS", false, colours),
                                heading("PARENT", false, colours),
                                heading("STARTED", true, colours)};
  clock.add_heading(head, colours);
  add_headings(head, {"LIVED", "ON CPU"}, true, colours);
  add_headings(head, {"END", "PROGRAM"}, false, colours);
  return head;
}

// `begin`: of the window.
std::vector<Table::Cell> lifetime_cells(const json& row, uint64_t begin, const ReportClock& clock) {
  const json& parent = member(row, "parent");
  std::vector<Table::Cell> cells{
      pid_cell(row),
      {fmt::format("{:{}}{}", "", 2 * number_at(row, "depth"), actor_name_cell(row).text)},
      {parent.is_null() ? "?" : actor_label(parent)},
      start_cell(row, begin)};
  if (row.contains("start_ns"))
    clock.add_time(cells, number_at(row, "start_ns"));
  else
    clock.add_nothing(cells);
  cells.insert(cells.end(), {lifetime_cell(row),
                             known_duration_cell(row, "cpu_ns"),
                             {end_text(member(row, "end"))},
                             {program_text(row)}});
  return cells;
}

}  // namespace

std::string process_report_text(const json& report, const Colours& colours) {
  const uint64_t begin = number_at(member(report, "window"), "begin_ns");
  const json& table = member(report, "processes");
  const ReportClock clock(report);
  Table text(lifetime_headings(clock, colours));
  for (const json& row : list_at(table, "rows")) text.add(lifetime_cells(row, begin, clock));
  std::string out = text.text() + more_rows(table) + "\n";
  if (const uint64_t lost = number_at(report, "lost"); lost != 0)
    out += fmt::format("{} events were lost\n", grouped(lost));
  if (const uint64_t count = number_at(report, "not_followed"); count != 0)
    out += fmt::format("{} events of further processes are not counted: there are too many\n",
                       grouped(count));
  return out + unknown_ends_text(list_at(table, "rows")) + caveats_text(report);
}

}  // namespace ktraced
