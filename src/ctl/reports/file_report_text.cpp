// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "ctl/input/report_clock.h"
#include "ctl/input/report_text.h"
#include "ctl/reports/actor_json.h"
#include "ctl/reports/call_names.h"
#include "ctl/reports/file_report.h"

namespace ktraced {
namespace {

using nlohmann::json;

// "/etc/passwd", "fd 5: lib/a.so", "/very/lo...", "b (new path)"
std::string file_path_text(const json& row) {
  if (flag_at(row, "others")) return "(others)";
  std::string text = flag_at(row, "unreadable") ? "(unreadable)" : printable(text_at(row, "path"));
  if (text.empty()) text = "\"\"";
  if (flag_at(row, "cut")) text += "...";
  const json& from = member(row, "relative_to");
  if (from.is_number_integer()) text = fmt::format("fd {}: {}", from.get<int32_t>(), text);
  std::string role = text_at(row, "role");
  if (role == "path") return text;
  std::ranges::replace(role, '_', ' ');
  return fmt::format("{} ({})", text, role);
}

using FileCells = std::vector<Table::Cell>;

// CALLS, OPENS, FAILED and TIME.
void add_use_headings(FileCells& head, const Colours& colours) {
  add_headings(head, {"CALLS", "OPENS", "FAILED", "TIME"}, true, colours);
}
void add_use(const json& row, FileCells& cells) {
  for (const char* key : {"calls", "opens", "failed"})
    cells.push_back(count_cell(number_at(row, key)));
  cells.push_back(latency_cell(member(row, "time"), "total_ns"));
}

FileCells process_headings(const Colours& colours) {
  return {heading("PID", true, colours), heading("PROCESS", false, colours)};
}
FileCells process_cells(const json& row) {
  if (flag_at(row, "others")) return {{""}, {"(others)"}};
  return {pid_cell(row), actor_name_cell(row)};
}

// Nothing for a table without rows.
std::string file_table_text(const Table& text, const json& table) {
  if (list_at(table, "rows").empty()) return "";
  return text.text() + more_rows(table) + "\n";
}

std::string file_paths_text(const json& table, const Colours& colours) {
  FileCells head;
  add_use_headings(head, colours);
  add_headings(head, {"PROCESSES"}, true, colours);
  add_headings(head, {"ERRORS", "PATH"}, false, colours);
  Table text(std::move(head));
  for (const json& row : list_at(table, "rows")) {
    FileCells cells;
    add_use(row, cells);
    cells.push_back(count_cell(number_at(row, "processes")));
    cells.push_back({errors_text(row)});
    cells.push_back({file_path_text(row)});
    text.add(std::move(cells));
  }
  return file_table_text(text, table);
}

std::string file_failures_text(const json& report, const Colours& colours) {
  const json& table = member(report, "failures");
  const ReportClock clock(report);
  FileCells head{heading("FAILED", true, colours), heading("LAST AT", true, colours)};
  clock.add_heading(head, colours);
  for (Table::Cell& cell : process_headings(colours)) head.push_back(std::move(cell));
  add_headings(head, {"SYSTEM CALL", "ERROR", "PATH"}, false, colours);
  Table text(std::move(head));
  for (const json& row : list_at(table, "rows")) {
    FileCells cells{count_cell(number_at(row, "count")), time_cell(number_at(row, "last_ns"))};
    clock.add_time(cells, number_at(row, "last_ns"));
    for (Table::Cell& cell : process_cells(row)) cells.push_back(std::move(cell));
    cells.push_back({text_at(row, "syscall")});
    cells.push_back({text_at(row, "error")});
    cells.push_back({file_path_text(row)});
    text.add(std::move(cells));
  }
  return file_table_text(text, table);
}

std::string file_processes_text(const json& table, const Colours& colours) {
  FileCells head = process_headings(colours);
  add_use_headings(head, colours);
  add_headings(head, {"PATHS"}, true, colours);
  add_headings(head, {"ERRORS"}, false, colours);
  Table text(std::move(head));
  for (const json& row : list_at(table, "rows")) {
    FileCells cells = process_cells(row);
    add_use(row, cells);
    cells.push_back(count_cell(number_at(row, "paths")));
    cells.push_back({errors_text(row)});
    text.add(std::move(cells));
  }
  return file_table_text(text, table);
}

std::string file_process_paths_text(const json& table, const Colours& colours) {
  FileCells head = process_headings(colours);
  add_use_headings(head, colours);
  add_headings(head, {"ERRORS", "PATH"}, false, colours);
  Table text(std::move(head));
  for (const json& row : list_at(table, "rows")) {
    FileCells cells = process_cells(row);
    add_use(row, cells);
    cells.push_back({errors_text(row)});
    cells.push_back({file_path_text(row)});
    text.add(std::move(cells));
  }
  return file_table_text(text, table);
}

std::string file_calls_text(const json& table, const Colours& colours) {
  FileCells head{heading("SYSTEM CALL", false, colours)};
  add_use_headings(head, colours);
  add_headings(head, {"ERRORS"}, false, colours);
  Table text(std::move(head));
  for (const json& row : list_at(table, "rows")) {
    FileCells cells{{flag_at(row, "others") ? "(others)" : text_at(row, "syscall")}};
    add_use(row, cells);
    cells.push_back({errors_text(row)});
    text.add(std::move(cells));
  }
  return file_table_text(text, table);
}

std::string file_notes(const json& report) {
  std::string out;
  auto note = [&](const char* key, const char* text) {
    if (const uint64_t count = number_at(report, key); count != 0)
      out += counted_text(count, text) + "\n";
  };
  note("unnamed", "calls were about a descriptor, or nothing: not counted");
  note("running", "calls had not returned at the end: not counted");
  note("killed", "calls did not return, because their thread was ended by others: not counted");
  note("begun_before", "calls began before the window, or their beginning is missing: not counted");
  note("end_unseen", "calls have no end in the trace although their thread went on: not counted");
  note("not_followed", "calls were not counted: too many were running at once");
  note("path_unseen", "calls have no path in the trace: not counted");
  note("call_unseen", "paths have no call in the trace: not counted");
  note("lost", "events were lost: beginnings, ends or strings of calls");
  note("uncertain", "calls ran while something was lost or changed: counted, their result is not");
  return out;
}

}  // namespace

std::string file_report_text(const json& report, const Colours& colours) {
  return file_paths_text(member(report, "paths"), colours) + file_failures_text(report, colours) +
         file_processes_text(member(report, "processes"), colours) +
         file_process_paths_text(member(report, "process_paths"), colours) +
         file_calls_text(member(report, "calls"), colours) + file_notes(report) +
         caveats_text(report);
}

}  // namespace ktraced
