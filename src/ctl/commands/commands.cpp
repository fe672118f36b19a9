// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/commands/commands.h"

#include <fmt/ranges.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/files/namespaces.h"
#include "base/text/json_access.h"
#include "base/text/text_list.h"
#include "ctl/input/filter_args.h"
#include "ctl/live/open_session.h"
#include "ctl/live/overhead.h"
#include "ctl/terminal/json_text.h"
#include "ctl/terminal/table.h"
#include "ctl/terminal/terminal.h"
#include "ctl/views/views.h"

namespace ktraced {

namespace {

using nlohmann::json;

// Attaching thousands of programs takes the kernel minutes.
constexpr std::chrono::minutes kAttachTimeout{10};

// The daemon measures for a minute at most.
constexpr std::chrono::seconds kMeasureTimeout{120};

std::string as_json(const json& value) { return json_text(value); }

// Interprets names as the daemon does: an event, its group, or a pattern. A pattern without a colon
// matches built-in events.
bool matches(const json& event, const std::string& typed) {
  const std::string name = text_at(event, "name");
  if (name == typed || text_at(event, "group") == typed) return true;
  return typed.contains(':') == name.contains(':') &&
         ::fnmatch(typed.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
}

bool is_listed(const json& answer, const std::string& typed) {
  return std::ranges::any_of(list_at(answer, "events"),
                             [&](const json& event) { return matches(event, typed); });
}

// `events list NAME…`: only the events and groups named.
json chosen_events(const json& answer, const std::vector<std::string>& names) {
  json chosen = json::array();
  for (const std::string& name : names)
    for (const json& event : list_at(answer, "events"))
      if (matches(event, name) && std::ranges::find(chosen, event) == chosen.end())
        chosen.push_back(event);
  return json{{"events", std::move(chosen)}};
}

// "kmalloc,kfree" is taken for two names, as everywhere else.
Result<std::vector<std::string>> split_names(const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const std::string& name : names) {
    const auto of_name = split_list(name);
    if (of_name.empty())
      return fail(ExitCode::usage,
                  "'{}' names no event: name an event, a group or a pattern, such as kmalloc, "
                  "sched or 'irq:*'",
                  name);
    parts.insert(parts.end(), of_name.begin(), of_name.end());
  }
  return parts;
}

Result<std::string> list_events(const EventsCommand& command, bool as_json_text,
                                RpcClient& client) {
  const auto split = split_names(command.names);
  if (!split) return std::unexpected(split.error());
  const std::vector<std::string>& names = *split;
  auto answer = client.call("events.list");
  if (!answer) return propagate(answer);
  // Disabled tracepoints are listed only by name. The daemon rejects unknown names.
  json tracepoints = json::array();
  for (const std::string& name : names)
    if (name.contains(':') || !is_listed(*answer, name)) tracepoints.push_back(name);
  if (!tracepoints.empty()) {
    auto all = client.call("events.list", {{"tracepoints", tracepoints}});
    const bool listed = std::ranges::all_of(
        names, [&](const std::string& name) { return is_listed(*answer, name); });
    if (!all && !listed) return propagate(all);  // probes are not tracepoints, but are listed
    if (all) answer = std::move(all);
  }
  if (!names.empty()) answer = chosen_events(*answer, names);
  return as_json_text ? as_json(*answer)
                      : events_view(*answer, command.verbose, Colours::of(STDOUT_FILENO));
}

std::string plain_text(std::string_view method, const json& result) {
  if (method == "reset")
    return fmt::format(
        "counters are zero again; {} unread events and {} of the flight recorder "
        "discarded\n",
        grouped(number_at(result, "discarded")), grouped(number_at(result, "history_discarded")));
  if (method == "reload") {
    const auto changed = texts_at(result, "changed");
    std::string text = changed.empty()
                           ? "reloaded: nothing has changed\n"
                           : fmt::format("reloaded: {} changed\n", fmt::join(changed, ", "));
    for (const std::string& key : texts_at(result, "at_next_start"))
      text += fmt::format("{} takes effect at the next start\n", key);
    return text;
  }
  return text_at(result, "state") + "\n";
}

std::string filter_text(const json& result) {
  auto filter = result.find("filter");
  auto args = filter == result.end() ? std::vector<std::string>{} : filter_to_args(*filter);
  return args.empty() ? "no filter: the events of all tasks are recorded\n"
                      : fmt::format("{}\n", fmt::join(args, "\n"));
}

Result<json> overhead_of(const StatusCommand& command, RpcClient& client) {
  const double seconds = command.duration_s.value_or(1);
  client.set_answer_timeout(kMeasureTimeout);
  return measure_overhead(client, static_cast<uint64_t>(std::llround(seconds * 1000)));
}

// Adds the session that a command is about; without one it is the recorder.
json with_session(json params, const std::optional<std::string>& session) {
  if (session) params["session"] = *session;
  return params;
}

}  // namespace

Result<std::string> run(const StatusCommand& command, bool json, RpcClient& client) {
  auto answer = client.call("status");
  if (!answer) return propagate(answer);
  if (command.overhead) {
    auto overhead = overhead_of(command, client);
    if (!overhead) return propagate(overhead);
    (*answer)["overhead"] = std::move(*overhead);
  }
  if (json) return as_json(*answer);
  const Colours colours = Colours::of(STDOUT_FILENO);
  std::string status = status_view(*answer, command, colours);
  if (!command.overhead) return status;
  return status + "\n" + overhead_view((*answer)["overhead"], colours);
}

Result<std::string> run(const EventsCommand& command, bool json, RpcClient& client) {
  if (command.action == EventsCommand::Action::list) return list_events(command, json, client);
  bool enable = command.action == EventsCommand::Action::enable;
  const auto names = split_names(command.names);
  if (!names) return std::unexpected(names.error());
  client.set_answer_timeout(kAttachTimeout);
  auto answer = client.call(enable ? "events.enable" : "events.disable",
                            with_session({{"names", *names}}, command.session));
  if (!answer) return propagate(answer);
  if (json) return as_json(*answer);
  return changed_events_view(*answer, enable);
}

Result<std::string> run(const PlainCommand& command, bool json, RpcClient& client) {
  client.set_answer_timeout(kAttachTimeout);
  auto params = with_session(nlohmann::json::object(), command.session);
  if (command.keep_history) params["keep_history"] = true;
  auto answer = client.call(command.method, params);
  if (!answer) return propagate(answer);
  return json ? as_json(*answer) : plain_text(command.method, *answer);
}

Result<std::string> run(const FilterCommand& command, bool json, RpcClient& client) {
  using Action = FilterCommand::Action;
  auto params = with_session(nlohmann::json::object(), command.session);
  if (command.action == Action::set) {
    nlohmann::json filter = command.filter;
    if (auto resolved = resolve_pids(client, filter); !resolved) return propagate(resolved);
    if (are_kernel_pids(filter)) params["kernel_pids"] = true;
    params["filter"] = std::move(filter);
  }
  if (!command.keys.empty()) params["keys"] = command.keys;
  auto answer = client.call(command.action == Action::set     ? "filter.set"
                            : command.action == Action::clear ? "filter.clear"
                                                              : "filter.show",
                            params);
  if (!answer) return propagate(answer);
  return json ? as_json(*answer) : filter_text(*answer);
}

Result<std::string> run(const SessionCommand& command, bool json, RpcClient& client) {
  const bool all = command.action == SessionCommand::Action::list;
  auto answer =
      all ? client.call("session.list") : client.call("session.show", {{"session", command.name}});
  if (!answer) return propagate(answer);
  if (json) return as_json(*answer);
  const Colours colours = Colours::of(STDOUT_FILENO);
  return all ? session_list_view(*answer, colours) : session_view(*answer, colours);
}

}  // namespace ktraced
