// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/reports/summary_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "ctl/input/report_clock.h"
#include "ctl/input/report_text.h"
#include "ctl/reports/actor_json.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr const char* kByName = "name";
constexpr const char* kSummaryKeys[] = {"events", kByName, "lost", "missed", "overwritten"};

// A report to suggest, and the events that it needs.
struct Hint {
  const char* report;
  const char* what;
  std::vector<std::string> events;
};
const std::vector<Hint>& hints() {
  static const std::vector<Hint> kHints = {
      {"kmem",
       "who allocates, what is wasted and what is not given back",
       {"kmalloc", "kmem_cache_alloc", "mm_page_alloc"}},
      {"sched", "who runs, who waits for a CPU and for how long", {"sched_switch"}},
      {"syscalls", "how long system calls take and how they end", {"sys_exit", "sys_completed"}},
  };
  return kHints;
}

json events_json(const SummaryAnalysis& analysis, const ReportFacts& facts) {
  json events = json::object();
  for (const auto& [name, count] : analysis.events()) {
    events[name] = {
        {"events", count.events}, {"lost", count.lost}, {"missed", 0}, {"overwritten", 0}};
    if (count.events != 0) events[name]["first_ns"] = count.first_ns;
  }
  for (const auto& [name, account] : facts.accounts.items()) {
    if (!events.contains(name)) events[name] = {{"events", 0}, {"lost", 0}};
    for (const char* count : {"missed", "overwritten"})
      events[name][count] = number_at(account, count);
  }
  return events;
}

json cpus_json(const SummaryAnalysis& analysis) {
  json cpus = json::array();
  for (const auto& [number, cpu] : analysis.cpus())
    cpus.push_back({{"cpu", number},
                    {"events", cpu.count.events},
                    {"lost", cpu.count.lost},
                    {"first_ns", cpu.first_ns},
                    {"last_ns", cpu.last_ns}});
  return cpus;
}

// Losses are known by event only, so by any other key the most active processes are first.
json processes_json(const SummaryAnalysis& analysis, uint64_t top, std::string_view by) {
  auto processes = analysis.processes();
  if (by == kByName) std::ranges::stable_sort(processes, {}, &SummaryAnalysis::Process::comm);
  json rows = json::array();
  for (size_t i = 0; i < std::min<size_t>(top, processes.size()); ++i) {
    const SummaryAnalysis::Process& process = processes[i];
    rows.push_back(actor_json(process));
    rows.back().update({{"events", process.events}, {"first_ns", process.first_ns}});
  }
  return {{"rows", std::move(rows)}, {"of", processes.size()}, {"others", analysis.other_events()}};
}

std::string events_table(const json& report, double seconds, const Colours& colours) {
  std::vector<Table::Cell> head{heading("EVENT", false, colours)};
  add_headings(head, {"EVENTS", "PER SECOND", "LOST", "MISSED", "OVERWRITTEN"}, true, colours);
  Table table(std::move(head));
  auto add = [&](const std::string& name, const json& counts) {
    const uint64_t events = number_at(counts, "events");
    auto loss = [&](const char* which) {
      const uint64_t count = number_at(counts, which);
      Table::Cell cell{grouped(count), true};
      if (count != 0) cell.paint = [&colours](std::string_view text) { return colours.red(text); };
      return cell;
    };
    table.add(
        {{printable(name)},
         count_cell(events),
         {seconds > 0 ? fmt::format("{:.0f}", static_cast<double>(events) / seconds) : "-", true},
         loss("lost"),
         loss("missed"),
         count_cell(number_at(counts, "overwritten"))});
  };
  for (const auto& [name, counts] : named_rows(member(report, "events"), text_at(report, "by")))
    add(name, *counts);
  add("total", member(report, "total"));
  return table.text() + "\n";
}

std::string cpus_table(const json& report, uint64_t begin, const Colours& colours) {
  const ReportClock clock(report);
  std::vector<Table::Cell> head;
  add_headings(head, {"CPU", "EVENTS", "LOST"}, true, colours);
  for (const char* name : {"FIRST", "LAST"}) {
    add_headings(head, {name}, true, colours);
    clock.add_heading(head, colours);
  }
  Table table(std::move(head));
  for (const json& cpu : list_at(report, "cpus")) {
    std::vector<Table::Cell> cells{{std::to_string(number_at(cpu, "cpu")), true},
                                   count_cell(number_at(cpu, "events")),
                                   count_cell(number_at(cpu, "lost"))};
    for (const char* which : {"first_ns", "last_ns"}) {
      const uint64_t ns = number_at(cpu, which);
      const bool known = number_at(cpu, "events") != 0;
      cells.push_back(
          {known ? fmt::format("+{:.6f} s", in_seconds(ns - std::min(ns, begin))) : "-", true});
      if (known)
        clock.add_time(cells, ns);
      else
        clock.add_nothing(cells);
    }
    table.add(std::move(cells));
  }
  return table.text() + "\n";
}

std::string processes_table(const json& report, const Colours& colours) {
  const json& processes = member(report, "processes");
  const uint64_t total = number_at(member(report, "total"), "events");
  Table table({heading("PID", true, colours), heading("PROCESS", false, colours),
               heading("EVENTS", true, colours), heading("SHARE", true, colours)});
  for (const json& process : list_at(processes, "rows")) {
    const uint64_t events = number_at(process, "events");
    table.add({pid_cell(process), actor_name_cell(process), count_cell(events),
               share_cell(events, total)});
  }
  return table.text() + more_rows(processes) + "\n";
}

std::string next_reports(const json& report) {
  std::string out;
  for (const json& next : list_at(report, "next"))
    out += fmt::format("see 'ktracectl report {}': {}\n", text_at(next, "report"),
                       text_at(next, "what"));
  return out;
}

}  // namespace

const std::vector<ReportTable>& summary_tables() {
  static const std::vector<ReportTable> kTables = {
      {"events", csv_columns("event,events,lost,missed,overwritten")},
      {"cpus", csv_columns("cpu,events,lost,first_ns,last_ns")},
      {"processes", csv_columns("pid,tid,comm,start_ns,events")}};
  return kTables;
}

std::vector<std::string> summary_sort_keys() {
  return {std::begin(kSummaryKeys), std::end(kSummaryKeys)};
}

json summary_report(const SummaryAnalysis& analysis, const ReportCommand& command,
                    const ReportFacts& facts) {
  const std::string by = command.by.empty() ? kSummaryKeys[0] : command.by;
  json report = {{"by", by},
                 {"events", events_json(analysis, facts)},
                 {"cpus", cpus_json(analysis)},
                 {"processes", processes_json(analysis, command.top, by)},
                 {"next", json::array()}};
  json total = {{"events", analysis.total().events}, {"lost", analysis.total().lost}};
  for (const char* count : {"missed", "overwritten"}) {
    uint64_t sum = 0;
    for (const auto& [name, account] : facts.accounts.items()) sum += number_at(account, count);
    total[count] = sum;
  }
  report["total"] = std::move(total);
  const auto events = analysis.events();
  for (const Hint& hint : hints())
    if (std::ranges::any_of(hint.events, [&](const auto& name) { return events.contains(name); }))
      report["next"].push_back({{"report", hint.report}, {"what", hint.what}});
  return report;
}

std::string summary_report_text(const json& report, const Colours& colours) {
  const uint64_t begin = number_at(member(report, "window"), "begin_ns");
  const double seconds = in_seconds(covered_ns(report));
  return events_table(report, seconds, colours) + cpus_table(report, begin, colours) +
         processes_table(report, colours) + next_reports(report) + caveats_text(report);
}

}  // namespace ktraced
