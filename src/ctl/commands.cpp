#include "ctl/commands.h"

#include <fmt/ranges.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/suggest.h"
#include "ctl/filter_args.h"
#include "ctl/json_access.h"
#include "ctl/table.h"
#include "ctl/terminal.h"
#include "ctl/text_list.h"
#include "ctl/views.h"

namespace ktraced {

namespace {

using nlohmann::json;

std::string as_json(const json& value) {
  return value.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

bool is_match(const std::string& name, const std::string& pattern) {
  return pattern.contains(':') && ::fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
}

// `events list NAME…`: only the events and groups named.
Result<json> chosen_events(const json& answer, const std::vector<std::string>& names) {
  json chosen = json::array();
  for (const std::string& name : names) {
    bool found = false;
    for (const json& event : list_at(answer, "events")) {
      if (text_at(event, "name") != name && text_at(event, "group") != name &&
          !is_match(text_at(event, "name"), name))
        continue;
      found = true;
      if (std::ranges::find(chosen, event) == chosen.end()) chosen.push_back(event);
    }
    if (found) continue;
    std::vector<std::string> known;
    for (const json& event : list_at(answer, "events")) known.push_back(text_at(event, "name"));
    auto near = near_matches(name, known);
    return fail(ExitCode::usage, "unknown event or group '{}'{}", name,
                near.empty() ? "" : fmt::format(": is {} meant?", fmt::join(near, " or ")));
  }
  return json{{"events", std::move(chosen)}};
}

// "kmalloc,kfree" is taken for two names, as everywhere else.
std::vector<std::string> split_names(const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const std::string& name : names)
    for (std::string_view part : split_list(name)) parts.emplace_back(part);
  return parts;
}

Result<std::string> list_events(const EventsCommand& command, bool as_json_text,
                                RpcClient& client) {
  json tracepoints = json::array();
  std::ranges::copy_if(command.names, std::back_inserter(tracepoints),
                       [](const std::string& name) { return name.contains(':'); });
  auto answer = client.call(
      "events.list", tracepoints.empty() ? json::object() : json{{"tracepoints", tracepoints}});
  if (!answer) return pass_on(answer);
  if (!command.names.empty()) {
    answer = chosen_events(*answer, command.names);
    if (!answer) return pass_on(answer);
  }
  return as_json_text ? as_json(*answer) : events_view(*answer, Colours::of(STDOUT_FILENO));
}

std::string plain_text(std::string_view method, const json& result) {
  if (method == "reset")
    return fmt::format("counters are zero again; {} unread events discarded\n",
                       grouped(number_at(result, "discarded")));
  if (method == "reload") {
    auto changed = texts_at(result, "changed");
    return changed.empty() ? "reloaded: nothing has changed\n"
                           : fmt::format("reloaded: {} changed\n", fmt::join(changed, ", "));
  }
  return text_at(result, "state") + "\n";
}

std::string filter_text(const json& result) {
  auto filter = result.find("filter");
  auto args = filter == result.end() ? std::vector<std::string>{} : filter_to_args(*filter);
  std::string out = args.empty() ? "no filter: the events of all tasks are recorded\n"
                                 : fmt::format("{}\n", fmt::join(args, "\n"));
  if (const std::string loan = loan_text(member(result, "on_loan")); !loan.empty())
    out += loan + "\n";
  return out;
}

}  // namespace

Result<std::string> run(const StatusCommand& command, bool json, RpcClient& client) {
  auto answer = client.call("status");
  if (!answer) return pass_on(answer);
  if (json) return as_json(*answer);
  return status_view(*answer, command.per_cpu, Colours::of(STDOUT_FILENO));
}

Result<std::string> run(const EventsCommand& command, bool json, RpcClient& client) {
  if (command.action == EventsCommand::Action::list) return list_events(command, json, client);
  bool enable = command.action == EventsCommand::Action::enable;
  auto answer = client.call(enable ? "events.enable" : "events.disable",
                            {{"names", split_names(command.names)}});
  if (!answer) return pass_on(answer);
  if (json) return as_json(*answer);
  std::string out = fmt::format("{}: {}\n", enable ? "enabled" : "disabled",
                                fmt::join(texts_at(*answer, "events"), ", "));
  for (const auto& [name, reason] : member(*answer, "skipped").items())
    out += fmt::format("not {}: {}\n", name, reason.get<std::string>());
  return out;
}

Result<std::string> run(const PlainCommand& command, bool json, RpcClient& client) {
  auto answer = client.call(command.method);
  if (!answer) return pass_on(answer);
  return json ? as_json(*answer) : plain_text(command.method, *answer);
}

Result<std::string> run(const FilterCommand& command, bool json, RpcClient& client) {
  using Action = FilterCommand::Action;
  Result<nlohmann::json> answer;
  if (command.action == Action::set) {
    answer = client.call("filter.set", {{"filter", command.filter}});
  } else {
    answer = client.call(command.action == Action::clear ? "filter.clear" : "filter.show");
  }
  if (!answer) return pass_on(answer);
  return json ? as_json(*answer) : filter_text(*answer);
}

}  // namespace ktraced
