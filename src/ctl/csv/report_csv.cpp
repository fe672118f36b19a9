// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/csv/report_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>

#include "base/text/json_access.h"
#include "base/text/json_dump.h"
#include "ctl/input/report_text.h"
#include "decoders/text/safe_text.h"

namespace ktraced {
namespace {

using nlohmann::json;
using Kind = ReportCommand::Kind;

std::vector<CsvTable> file_tables(const std::string& actor) {
  const std::string path = "path,role,relative_to,cut,unreadable";
  const std::string use =
      "calls,opens,failed,uncertain,errors,time.count,time.total_ns,time.mean_ns,time.max_ns";
  return {{"paths", path + "," + use + ",processes,others"},
          {"failures", path + "," + actor + ",syscall,error,count,last_ns,others"},
          {"processes", actor + "," + use + ",paths,others"},
          {"process_paths", actor + "," + path + "," + use + ",others"},
          {"calls", "syscall," + use + ",others"}};
}

std::vector<CsvTable> process_tables(const std::string& actor) {
  return {
      {"processes",
       actor +
           ",depth,parent.pid,parent.comm,uid,forked,lifetime_ns,cpu_ns,uncertain,"
           "threads,execs,program,argv,cgroup,cgroup_id,container,pod,end.how,end.ts,end.status,"
           "end.signal.name,end.signal.from,end.signal.from.pid,end.signal.from.comm,end.because"}};
}

std::vector<CsvTable> kmem_tables(const std::string& actor) {
  const std::string use =
      ",count,failed,requested,given,waste,freed,freed_elsewhere,freed_unseen,held,held_bytes,"
      "oldest_ns,uncertain,uncertain_bytes,others,in_interrupt";
  return {{"call_sites", "type,call_site,symbol" + use},
          {"caches", "cache,size" + use},
          {"sizes", "size" + use},
          {"tasks", actor + use},
          {"orders", "order" + use},
          {"task_sites", actor + ",type,call_site,symbol" + use},
          {"gfp_flags", "gfp_flags,gfp_flags_names" + use},
          {"nodes", "page_node,node" + use}};
}

std::vector<CsvTable> syscall_tables(const std::string& actor) {
  const std::string calls =
      "syscall,calls,failed,errors,time.count,time.total_ns,time.mean_ns,time.p50_ns,time.p90_ns,"
      "time.p99_ns,time.max_ns,others";
  return {{"calls", calls},
          {"processes", actor + "," + calls},
          {"slowest", "ts,ns,tid,comm,syscall,args,ret,error"}};
}

const std::vector<CsvTable>& tables_of(Kind kind) {
  static const std::string kActor = "pid,tid,comm,start_ns";
  static const std::string kDelay =
      ",delay.count,delay.total_ns,delay.mean_ns,delay.p50_ns,delay.p90_ns,delay.p99_ns,"
      "delay.max_ns";
  static const std::string kWait = "ts,ns,cpu,tid,comm,instead.tid,instead.comm,instead.ns";
  static const std::map<Kind, std::vector<CsvTable>> kTables = {
      {Kind::summary,
       {{"events", "event,events,lost,missed,overwritten"},
        {"cpus", "cpu,events,lost,first_ns,last_ns"},
        {"processes", kActor + ",events"}}},
      {Kind::processes, process_tables(kActor)},
      {Kind::files, file_tables(kActor)},
      {Kind::kmem, kmem_tables(kActor)},
      {Kind::sched,
       {{"threads", kActor + ",on_cpu_ns,switched_in,slept,preempted,preempted_ns,migrations" +
                        kDelay + ",others"},
        {"cpus", "cpu,busy_ns,idle_ns,unknown_ns,switches"},
        {"longest", kWait}}},
      {Kind::syscalls, syscall_tables(kActor)},
      {Kind::wakeups,
       {{"wakers", kActor + ",count" + kDelay + ",others,context,cpu"},
        {"pairs",
         "tid,comm,waker.tid,waker.comm,count,total_ns,max_ns,max_ts,others,waker.context,"
         "waker.cpu"},
        {"instead", "tid,comm,waits,ns,others"},
        {"longest", kWait + ",waker.tid,waker.comm,reason,waker.context,waker.cpu"}}}};
  return kTables.at(kind);
}

struct CsvColumn {
  std::string path;
  bool members_follow = false;  // columns of the members of its value follow: "end", "end.ts"
};

std::vector<CsvColumn> columns_in(std::string_view list) {
  std::vector<CsvColumn> columns;
  for (const auto name : std::views::split(list, ','))
    columns.push_back({.path = std::string(name.begin(), name.end())});
  for (CsvColumn& column : columns)
    column.members_follow =
        std::ranges::any_of(columns, [members = column.path + "."](const CsvColumn& other) {
          return other.path.starts_with(members);
        });
  return columns;
}

// The member "delay.p50_ns" of a row.
const json& value_at(const json& row, std::string_view path) {
  const json* value = &row;
  for (const auto part : std::views::split(path, '.'))
    value = &member(*value, std::string_view(part.begin(), part.end()));
  return *value;
}

std::string quoted(std::string text) {
  if (text.find_first_of(",\"") == std::string::npos) return text;
  for (size_t at = text.find('"'); at != std::string::npos; at = text.find('"', at + 2))
    text.insert(at, 1, '"');
  return fmt::format("\"{}\"", text);
}

std::string csv_value(const json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) {
    const std::string text = printable(value.get_ref<const std::string&>());
    return quoted(std::string(formula_guard(text)) + text);
  }
  return quoted(printable(dump_json(value)));
}

std::string csv_line(const json& row, const std::vector<CsvColumn>& columns) {
  std::string line;
  for (const CsvColumn& column : columns) {
    if (&column != &columns.front()) line += ',';
    const json& value = value_at(row, column.path);
    if (!column.members_follow || !value.is_object()) line += csv_value(value);
  }
  line += '\n';
  return line;
}

}  // namespace

std::vector<std::string> csv_table_names(Kind kind) {
  std::vector<std::string> names;
  for (const CsvTable& table : tables_of(kind)) names.push_back(table.name);
  return names;
}

std::optional<CsvTable> csv_table_named(Kind kind, std::string_view name) {
  const auto& tables = tables_of(kind);
  if (name.empty()) return tables.front();
  const auto found = std::ranges::find(tables, name, &CsvTable::name);
  if (found == tables.end()) return std::nullopt;
  return *found;
}

std::string report_csv(const json& report, const CsvTable& table) {
  const std::vector<CsvColumn> columns = columns_in(table.columns);
  std::string out = fmt::format("{}\n", table.columns);
  const json& rows = member(report, table.name);
  if (rows.is_array() || rows.contains("rows")) {
    for (const json& row : rows.is_array() ? rows : list_at(rows, "rows"))
      out += csv_line(row, columns);
    return out;
  }
  for (const auto& [name, values] : named_rows(rows, text_at(report, "by"))) {
    json row = *values;  // its name is the first column
    row[columns.front().path] = name;
    out += csv_line(row, columns);
  }
  return out;
}

}  // namespace ktraced
