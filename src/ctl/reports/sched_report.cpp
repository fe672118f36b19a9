// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/reports/sched_report.h"

#include <fmt/format.h>

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

json sched_row_json(const SchedRow& row) {
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

std::string sched_tid(const json& row, const json& /*report*/) {
  return flag_at(row, "others") ? "" : std::to_string(number_at(row, "tid"));
}

std::string sched_comm(const json& row, const json& /*report*/) {
  return flag_at(row, "others") ? "(others)" : comm_text(row);
}

std::string sched_notes(const json& report) {
  std::string out = notes_text(
      report, {{"lost", "events were lost"},
               {"uncertain", "times are not counted: something is missing in the middle"}});
  if (const uint64_t count = number_at(report, "not_followed"); count != 0)
    out += fmt::format("{} waits were not followed: too many threads were waiting at once\n",
                       grouped(count));
  return out + caveats_text(report);
}

}  // namespace

const std::vector<ReportTable>& sched_tables() {
  using namespace columns;
  static const std::vector<ReportTable> kTables = {
      {"threads",
       make_columns("pid", number("tid", "THREAD", sched_tid), text("comm", "", sched_comm),
                    "start_ns", duration("on_cpu_ns", "ON CPU"), count("switched_in", "SWITCHES"),
                    count("slept", "SLEPT"), count("preempted", "PREEMPTED"),
                    duration("preempted_ns", "FOR"), count("migrations", "MIGRATED"), "delay.count",
                    "delay.total_ns", "delay.mean_ns", latency("delay.p50_ns", "DELAY 50 %"),
                    "delay.p90_ns", latency("delay.p99_ns", "99 %"),
                    latency("delay.max_ns", "LONGEST"), "others"),
       /*even_if_empty=*/true},
      {"cpus",
       make_columns(number("cpu", "CPU"), duration("busy_ns", "BUSY"), duration("idle_ns", "IDLE"),
                    duration("unknown_ns", "UNKNOWN"), count("switches", "SWITCHES")),
       /*even_if_empty=*/true},
      {"longest", make_columns(wait_columns("WOKEN AT", "LONGEST DELAYS"),
                               text("", "INSTEAD RAN", instead_label))}};
  return kTables;
}

std::vector<std::string> sched_sort_keys() { return key_names(kSchedKeys); }

json sched_report(const SchedAnalysis& analysis, const ReportCommand& command) {
  const auto& key = key_named(kSchedKeys, command.by);
  const auto before = [value = key.second](const SchedRow& a, const SchedRow& b) {
    return std::pair(value(b), b.switched_in) < std::pair(value(a), a.switched_in);
  };
  json cpus = json::array(), longest = json::array();
  for (const auto& [number, cpu] : analysis.cpus())
    cpus.push_back({{"cpu", number},
                    {"busy_ns", cpu.busy_ns},
                    {"idle_ns", cpu.idle_ns},
                    {"unknown_ns", cpu.unknown_ns},
                    {"switches", cpu.switches}});
  for (const SchedDelay& delay : analysis.longest()) longest.push_back(delay_json(delay));
  return {{"by", key.first},
          {"cpus", std::move(cpus)},
          {"threads", first_rows(analysis.threads(), command.top, before, sched_row_json)},
          {"delay", latency_json(analysis.delays())},
          {"histogram", histogram_json(analysis.delays())},
          {"longest", std::move(longest)},
          {"lost", analysis.lost()},
          {"uncertain", analysis.uncertain()},
          {"not_followed", analysis.not_followed()}};
}

std::string sched_report_text(const json& report, const Colours& colours) {
  const auto& tables = sched_tables();
  return section_text(tables[1], report, colours) + section_text(tables[0], report, colours) +
         section_text(tables[2], report, colours) + delays_text(report, colours) +
         sched_notes(report);
}

TableColumns wait_columns(const char* since, const char* how_long) {
  using namespace columns;
  return make_columns(time("ts", since), duration("ns", how_long), number("cpu", "CPU"),
                      number("tid", "THREAD"), text("comm", "", comm_text), "instead.tid",
                      "instead.comm", "instead.ns");
}

std::string instead_label(const json& wait, const json& /*report*/) {
  const json& instead = member(wait, "instead");
  if (instead.is_null()) return "?";
  return fmt::format("{} {} for {}", comm_text(instead), number_at(instead, "tid"),
                     duration_text(number_at(instead, "ns")));
}

}  // namespace ktraced
