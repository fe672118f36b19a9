// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/completion/candidates.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <map>

#include "base/text/json_access.h"
#include "ctl/input/filter_args.h"
#include "ctl/printing/output_format.h"
#include "ctl/reports/report.h"
#include "ctl/top/view_names.h"
#include "decoders/text/event_time.h"
#include "schema/names.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr int32_t kCallMax = 1024;
constexpr int32_t kErrnoMax = 4095;

std::vector<Candidate> plain(const std::vector<std::string>& names) {
  std::vector<Candidate> found;
  found.reserve(names.size());
  for (const std::string& name : names) found.push_back({name, ""});
  return found;
}

// Events and their groups. Tracepoints of the kernel are many: only those of the group typed.
std::vector<Candidate> events(const Cursor& cursor, const AskDaemon& ask) {
  json params = json::object();
  if (const size_t colon = cursor.value.find(':'); colon != std::string::npos)
    params["tracepoints"] = {cursor.value.substr(0, colon) + ":*"};
  std::map<std::string, std::string> found;  // by name: groups once
  const json answer = ask("events.list", params);
  for (const json& event : list_at(answer, "events")) {
    found.emplace(text_at(event, "name"), text_at(event, "doc"));
    if (const std::string group = text_at(event, "group"); !group.empty())
      found.emplace(group, "all events of this group");
  }
  std::vector<Candidate> all;
  all.reserve(found.size());
  for (auto& [name, doc] : found) all.push_back({name, doc});
  return all;
}

// The texts `key` of a list of objects.
std::vector<Candidate> named(const json& answer, const char* list, const char* key,
                             const char* description) {
  std::vector<Candidate> found;
  for (const json& one : list_at(answer, list))
    found.push_back({text_at(one, key), text_at(one, description)});
  return found;
}

std::vector<Candidate> probes(const AskDaemon& ask) {
  auto found = named(ask("probe.list", json::object()), "probes", "event", "definition");
  for (Candidate& probe : found) std::ranges::replace(probe.value, ':', '/');
  return found;
}

std::vector<Candidate> syscalls() {
  std::vector<Candidate> found;
  for (int32_t number = 0; number < kCallMax; ++number)
    if (const auto name = syscall_name(0, number); !name.empty())
      found.push_back({std::string(name), ""});
  return found;
}

std::vector<Candidate> errors() {
  std::vector<Candidate> found{{"any", "all errors"}};
  for (int32_t error = 1; error <= kErrnoMax; ++error)
    if (const auto name = errno_name(error); !name.empty())
      found.push_back({std::string(name), ""});
  return found;
}

std::vector<Candidate> filter_arguments() {
  auto found = plain(filter_keys());
  for (Candidate& key : found) key.value += '=';
  return found;
}

std::vector<Candidate> subcommands(const CLI::App& command) {
  std::vector<Candidate> found;
  for (const CLI::App* below : command.get_subcommands({}))
    found.push_back({below->get_name(), below->get_description()});
  return found;
}

// The commands that `help` explains after the words before the cursor.
std::vector<Candidate> commands(const Cursor& cursor) {
  const CLI::App* command = cursor.command->get_parent();
  for (const std::string& word : cursor.arguments) {
    const auto below = command->get_subcommands({});
    const auto next = std::ranges::find(below, word, &CLI::App::get_name);
    if (next == below.end()) return {};
    command = *next;
  }
  return subcommands(*command);
}

// Values of options that depend on the report.
std::vector<Candidate> of_report(ValueKind value, const Cursor& cursor) {
  const auto kinds = report_kinds();
  const auto kind = std::ranges::find(kinds, cursor.command->get_name(), &ReportKind::name);
  if (kind == kinds.end()) return {};
  return plain(value == ValueKind::tables ? table_names(*kind) : by_names(*kind));
}

}  // namespace

std::vector<Candidate> candidates(ValueKind kind, const Cursor& cursor, const AskDaemon& ask) {
  switch (kind) {
    case ValueKind::events:
      return events(cursor, ask);
    case ValueKind::sessions:
      return named(ask("session.list", json::object()), "sessions", "name", "state");
    case ValueKind::snapshots:
    case ValueKind::traces:
      return named(ask("snapshot.list", json::object()), "snapshots", "name", "reason");
    case ValueKind::probes:
      return probes(ask);
    case ValueKind::syscalls:
      return syscalls();
    case ValueKind::errors:
      return errors();
    case ValueKind::formats:
      return plain(format_names());
    case ValueKind::time_forms:
      return plain(time_form_names());
    case ValueKind::export_forms:
      return plain({"perfetto", "trace.dat", "json", "folded"});
    case ValueKind::top_views:
      return plain(top_view_names());
    case ValueKind::sort_keys:
    case ValueKind::tables:
      return of_report(kind, cursor);
    case ValueKind::filter_keys:
      return plain(filter_keys());
    case ValueKind::filter_arguments:
      return filter_arguments();
    case ValueKind::commands:
      return commands(cursor);
    case ValueKind::free:
    case ValueKind::files:
    case ValueKind::directories:
    case ValueKind::programs:
      break;
  }
  return {};
}

}  // namespace ktraced
