// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/reports/summary_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

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

std::string per_second(const json& row, const json& report) {
  const double seconds = in_seconds(covered_ns(report));
  if (seconds <= 0) return "-";
  return fmt::format("{:.0f}", static_cast<double>(number_at(row, "events")) / seconds);
}

// Since the begin of the window; "-" for a CPU without events.
std::string since_begin(const json& cpu, const char* key, const json& report) {
  if (number_at(cpu, "events") == 0) return "-";
  const uint64_t ns = number_at(cpu, key), begin = number_at(member(report, "window"), "begin_ns");
  return fmt::format("+{:.6f} s", in_seconds(ns - std::min(ns, begin)));
}
std::string first_event(const json& cpu, const json& report) {
  return since_begin(cpu, "first_ns", report);
}
std::string last_event(const json& cpu, const json& report) {
  return since_begin(cpu, "last_ns", report);
}

std::string share_of_events(const json& process, const json& report) {
  return share_text(number_at(process, "events"), number_at(member(report, "total"), "events"));
}

// A line for each event, and one for their sum.
std::string events_table(const json& report, const Colours& colours) {
  json rows = rows_by_name(summary_tables()[0], report);
  rows.push_back(member(report, "total"));
  rows.back()["event"] = "total";
  return table_text(summary_tables()[0].columns, rows, report, colours) + "\n";
}

json stacks_row(std::string_view kind, const StackAccount::OfKind& stacks) {
  return {{"kind", kind},
          {"events", stacks.events},
          {"lacking", stacks.lacking},
          {"others", stacks.others},
          {"different", stacks.different},
          {"written", stacks.written},
          {"repeated", stacks.written - stacks.different}};
}

// What the table of stacks does not distinguish.
std::string other_stacks(const json& report) {
  uint64_t others = 0;
  for (const json& row : list_at(report, "stacks")) others += number_at(row, "others");
  if (others == 0) return "";
  return counted_text(others, "events have stacks that are not followed: there are too many") +
         "\n\n";
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
  using namespace columns;
  static const std::vector<ReportTable> kTables = {
      {"events", make_columns(text("event", "EVENT"), count("events", "EVENTS"),
                              number("", "PER SECOND", per_second), loss("lost", "LOST"),
                              loss("missed", "MISSED"), count("overwritten", "OVERWRITTEN"))},
      {"cpus",
       make_columns(number("cpu", "CPU"), count("events", "EVENTS"), count("lost", "LOST"),
                    time("first_ns", "FIRST", first_event), time("last_ns", "LAST", last_event)),
       /*even_if_empty=*/true},
      {"processes",
       make_columns(actor_columns(), count("events", "EVENTS"),
                    number("", "SHARE", share_of_events)),
       /*even_if_empty=*/true},
      {"stacks", make_columns(text("kind", "STACKS"), count("events", "EVENTS"),
                              loss("lacking", "LACKING"), "others", count("different", "DIFFERENT"),
                              count("written", "WRITTEN"), count("repeated", "REPEATED"))}};
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

void add_stack_account(json& report, const StackAccount& account, const StackTable& elsewhere) {
  json rows = json::array();
  for (const auto& [name, kind] :
       {std::pair("user", StackKind::user), std::pair("kernel", StackKind::kernel)})
    if (const auto stacks = account.of(kind, elsewhere); stacks.events + stacks.written != 0)
      rows.push_back(stacks_row(name, stacks));
  report["stacks"] = std::move(rows);
}

std::string summary_report_text(const json& report, const Colours& colours) {
  const auto& tables = summary_tables();
  return events_table(report, colours) + section_text(tables[1], report, colours) +
         section_text(tables[2], report, colours) + section_text(tables[3], report, colours) +
         other_stacks(report) + next_reports(report) + caveats_text(report);
}

}  // namespace ktraced
