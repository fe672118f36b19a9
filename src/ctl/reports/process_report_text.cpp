// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>

#include "ctl/input/report_clock.h"
#include "ctl/input/report_text.h"
#include "ctl/reports/actor_json.h"
#include "ctl/reports/process_report.h"
#include "trace/metadata/container.h"

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

// "docker 0123456789ab", or the path of the control group.
std::string cgroup_text(const json& row) {
  constexpr size_t kShortId = 12;  // digits of an id that runtimes show
  const std::string path = text_at(row, "cgroup");
  const auto container = container_of(path);
  if (!container) return path.empty() ? "?" : printable(path);
  const bool is_id = container->id.find_first_not_of("0123456789abcdef") == std::string::npos;
  const std::string id = is_id ? container->id.substr(0, kShortId) : container->id;
  return printable(container->runtime.empty() ? id : container->runtime + " " + id);
}

// Is a process known to be in a group other than the root?
bool has_cgroups(const json& rows) {
  return std::ranges::any_of(rows, [](const json& row) {
    const std::string path = text_at(row, "cgroup");
    return !path.empty() && path != "/";
  });
}

// The columns that a table has beside those of all.
struct Columns {
  const ReportClock& clock;
  bool cgroups;
};

std::vector<Table::Cell> lifetime_headings(const Columns& columns, const Colours& colours) {
  std::vector<Table::Cell> head{heading("PID", true, colours), heading("PROCESS", false, colours),
                                heading("PARENT", false, colours),
                                heading("STARTED", true, colours)};
  columns.clock.add_heading(head, colours);
  add_headings(head, {"LIVED", "ON CPU"}, true, colours);
  add_headings(head, {"END"}, false, colours);
  if (columns.cgroups) add_headings(head, {"CGROUP"}, false, colours);
  add_headings(head, {"PROGRAM"}, false, colours);
  return head;
}

// `begin`: of the window.
std::vector<Table::Cell> lifetime_cells(const json& row, uint64_t begin, const Columns& columns) {
  const json& parent = member(row, "parent");
  std::vector<Table::Cell> cells{
      pid_cell(row),
      {fmt::format("{:{}}{}", "", 2 * number_at(row, "depth"), actor_name_cell(row).text)},
      {parent.is_null() ? "?" : actor_label(parent)},
      start_cell(row, begin)};
  if (row.contains("start_ns"))
    columns.clock.add_time(cells, number_at(row, "start_ns"));
  else
    columns.clock.add_nothing(cells);
  cells.insert(
      cells.end(),
      {lifetime_cell(row), known_duration_cell(row, "cpu_ns"), {end_text(member(row, "end"))}});
  if (columns.cgroups) cells.push_back({cgroup_text(row)});
  cells.push_back({program_text(row)});
  return cells;
}

}  // namespace

std::string process_report_text(const json& report, const Colours& colours) {
  const uint64_t begin = number_at(member(report, "window"), "begin_ns");
  const json& table = member(report, "processes");
  const ReportClock clock(report);
  const Columns columns{.clock = clock, .cgroups = has_cgroups(list_at(table, "rows"))};
  Table text(lifetime_headings(columns, colours));
  for (const json& row : list_at(table, "rows")) text.add(lifetime_cells(row, begin, columns));
  std::string out = text.text() + more_rows(table) + "\n";
  if (const uint64_t lost = number_at(report, "lost"); lost != 0)
    out += counted_text(lost, "events were lost") + "\n";
  if (const uint64_t count = number_at(report, "not_followed"); count != 0)
    out += fmt::format("{} events of further processes are not counted: there are too many\n",
                       grouped(count));
  return out + unknown_ends_text(list_at(table, "rows")) + caveats_text(report);
}

}  // namespace ktraced
