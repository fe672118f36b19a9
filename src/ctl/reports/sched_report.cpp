// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/reports/sched_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "ctl/input/report_text.h"
#include "ctl/reports/actor_json.h"
#include "ctl/reports/latency_json.h"

namespace ktraced {
namespace {

using nlohmann::json;
// Nothing: the row has no such value. It is sorted after all rows that have one.
using SchedNumber = std::optional<uint64_t>;
using SchedValue = SchedNumber (*)(const SchedRow& row);

constexpr std::pair<const char*, SchedValue> kSchedKeys[] = {
    {"runtime",
     [](const SchedRow& row) { return row.measured ? SchedNumber(row.on_cpu_ns) : std::nullopt; }},
    {"delay",
     [](const SchedRow& row) {
       return row.delay.count() != 0 ? SchedNumber(row.delay.max()) : std::nullopt;
     }},
    {"switches", [](const SchedRow& row) { return SchedNumber(row.switched_in); }},
    {"preempted", [](const SchedRow& row) { return SchedNumber(row.preempted_ns); }},
    {"migrations", [](const SchedRow& row) { return SchedNumber(row.migrations); }},
};

json row_json(const SchedRow& row) {
  json out = {{"on_cpu_ns", row.measured ? json(row.on_cpu_ns) : json()},
              {"switched_in", row.switched_in},
              {"slept", row.slept},
              {"preempted", row.preempted},
              {"migrations", row.migrations},
              {"preempted_ns", row.preempted_ns},
              {"delay", latency_json(row.delay)}};
  if (row.others)
    out["others"] = true;
  else
    out.update({{"tid", row.tid},
                {"pid", row.pid != 0 ? json(row.pid) : json()},
                {"comm", comm_json(row.comm)},
                {"first_ns", row.first_ns}});
  if (row.start_ns != 0) out["start_ns"] = row.start_ns;
  return out;
}

json delay_json(const SchedDelay& delay) {
  json out = {
      {"ts", delay.woken_ns},          {"ns", delay.ns},    {"cpu", delay.cpu}, {"tid", delay.tid},
      {"comm", comm_json(delay.comm)}, {"instead", nullptr}};
  if (delay.instead_tid)
    out["instead"] = {{"tid", *delay.instead_tid},
                      {"comm", comm_json(delay.instead_comm)},
                      {"ns", delay.instead_ns}};
  return out;
}

std::string sched_cpus_text(const json& report, const Colours& colours) {
  std::vector<Table::Cell> head;
  add_headings(head, {"CPU", "BUSY", "IDLE", "UNKNOWN", "SWITCHES"}, true, colours);
  Table text(std::move(head));
  for (const json& cpu : list_at(report, "cpus"))
    text.add({{std::to_string(number_at(cpu, "cpu")), true},
              duration_cell(number_at(cpu, "busy_ns")),
              duration_cell(number_at(cpu, "idle_ns")),
              duration_cell(number_at(cpu, "unknown_ns")),
              count_cell(number_at(cpu, "switches"))});
  return text.text() + "\n";
}

std::string threads_text(const json& table, const Colours& colours) {
  std::vector<Table::Cell> head{heading("THREAD", true, colours), heading("", false, colours)};
  add_headings(head,
               {"ON CPU", "SWITCHES", "SLEPT", "PREEMPTED", "FOR", "MIGRATED", "DELAY 50 %", "99 %",
                "LONGEST"},
               true, colours);
  Table text(std::move(head));
  for (const json& row : list_at(table, "rows")) {
    const bool others = flag_at(row, "others");
    const json& delay = member(row, "delay");
    text.add({{others ? "" : std::to_string(number_at(row, "tid")), true},
              others ? Table::Cell{"(others)"} : comm_cell(row),
              known_duration_cell(row, "on_cpu_ns"),
              count_cell(number_at(row, "switched_in")),
              count_cell(number_at(row, "slept")),
              count_cell(number_at(row, "preempted")),
              duration_cell(number_at(row, "preempted_ns")),
              count_cell(number_at(row, "migrations")),
              latency_cell(delay, "p50_ns"),
              latency_cell(delay, "p99_ns"),
              latency_cell(delay, "max_ns")});
  }
  return text.text() + more_rows(table) + "\n";
}

std::string longest_text(const json& report, const Colours& colours) {
  const json& delays = list_at(report, "longest");
  if (delays.empty()) return "";
  const ReportClock clock(report);
  std::vector<Table::Cell> head{heading("WOKEN AT", true, colours)};
  clock.add_heading(head, colours);
  add_headings(head, {"LONGEST DELAYS", "CPU", "THREAD"}, true, colours);
  add_headings(head, {"", "INSTEAD RAN"}, false, colours);
  Table text(std::move(head));
  for (const json& delay : delays) {
    std::vector<Table::Cell> cells = wait_cells(delay, clock);
    cells.push_back({instead_label(delay)});
    text.add(std::move(cells));
  }
  return text.text() + "\n";
}

std::string sched_notes(const json& report) {
  std::string out;
  if (const uint64_t lost = number_at(report, "lost"); lost != 0)
    out += counted_text(lost, "events were lost") + "\n";
  if (const uint64_t uncertain = number_at(report, "uncertain"); uncertain != 0)
    out +=
        counted_text(uncertain, "times are not counted: something is missing in the middle") + "\n";
  if (const uint64_t count = number_at(report, "not_followed"); count != 0)
    out += fmt::format("{} waits were not followed: too many threads were waiting at once\n",
                       grouped(count));
  return out + caveats_text(report);
}

}  // namespace

const std::vector<ReportTable>& sched_tables() {
  static const std::vector<ReportTable> kTables = {
      {"threads", csv_columns("pid,tid,comm,start_ns,on_cpu_ns,switched_in,slept,preempted,"
                              "preempted_ns,migrations,delay.count,delay.total_ns,delay.mean_ns,"
                              "delay.p50_ns,delay.p90_ns,delay.p99_ns,delay.max_ns,others")},
      {"cpus", csv_columns("cpu,busy_ns,idle_ns,unknown_ns,switches")},
      {"longest", csv_columns("ts,ns,cpu,tid,comm,instead.tid,instead.comm,instead.ns")}};
  return kTables;
}

std::vector<std::string> sched_sort_keys() {
  std::vector<std::string> keys;
  for (const auto& [key, value] : kSchedKeys) keys.emplace_back(key);
  return keys;
}

json sched_report(const SchedAnalysis& analysis, const ReportCommand& command) {
  const auto* key = std::ranges::find(
      kSchedKeys, command.by, [](const auto& each) { return std::string_view(each.first); });
  if (key == std::ranges::end(kSchedKeys)) key = kSchedKeys;
  std::vector<const SchedRow*> rows;
  rows.reserve(analysis.threads().size());
  for (const SchedRow& row : analysis.threads()) rows.push_back(&row);
  std::ranges::stable_sort(rows, [value = key->second](const SchedRow* a, const SchedRow* b) {
    return std::pair(value(*b), b->switched_in) < std::pair(value(*a), a->switched_in);
  });
  json threads = json::array(), cpus = json::array(), longest = json::array();
  for (size_t i = 0; i < std::min<size_t>(rows.size(), command.top); ++i)
    threads.push_back(row_json(*rows[i]));
  for (const auto& [number, cpu] : analysis.cpus())
    cpus.push_back({{"cpu", number},
                    {"busy_ns", cpu.busy_ns},
                    {"idle_ns", cpu.idle_ns},
                    {"unknown_ns", cpu.unknown_ns},
                    {"switches", cpu.switches}});
  for (const SchedDelay& delay : analysis.longest()) longest.push_back(delay_json(delay));
  return {{"by", key->first},
          {"cpus", std::move(cpus)},
          {"threads", {{"rows", std::move(threads)}, {"of", rows.size()}}},
          {"delay", latency_json(analysis.delays())},
          {"histogram", histogram_json(analysis.delays())},
          {"longest", std::move(longest)},
          {"lost", analysis.lost()},
          {"uncertain", analysis.uncertain()},
          {"not_followed", analysis.not_followed()}};
}

std::string sched_report_text(const json& report, const Colours& colours) {
  std::string out = sched_cpus_text(report, colours) +
                    threads_text(member(report, "threads"), colours) +
                    longest_text(report, colours);
  if (!list_at(report, "histogram").empty())
    out += colours.bold("FROM BEING WOKEN TO RUNNING, FROM") + "\n" +
           histogram_text(member(report, "histogram"), colours.on()) +
           percentiles_text(member(report, "delay")) + "\n";
  return out + sched_notes(report);
}

std::vector<Table::Cell> wait_cells(const json& wait, const ReportClock& clock) {
  std::vector<Table::Cell> cells{time_cell(number_at(wait, "ts"))};
  clock.add_time(cells, number_at(wait, "ts"));
  cells.insert(cells.end(), {duration_cell(number_at(wait, "ns")),
                             {std::to_string(number_at(wait, "cpu")), true},
                             {std::to_string(number_at(wait, "tid")), true},
                             comm_cell(wait)});
  return cells;
}

std::string instead_label(const json& wait) {
  const json& instead = member(wait, "instead");
  if (instead.is_null()) return "?";
  return fmt::format("{} {} for {}", comm_cell(instead).text, number_at(instead, "tid"),
                     duration_text(number_at(instead, "ns")));
}

}  // namespace ktraced
