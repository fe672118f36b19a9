// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/views/hints.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "base/print_stderr.h"
#include "base/text/plain_text.h"
#include "ctl/input/json_access.h"

namespace ktraced {

using nlohmann::json;

std::vector<std::string> disabled_events(const std::vector<std::string>& chosen,
                                         const json& events) {
  std::vector<std::string> hints, disabled;
  std::set<std::string> groups, partly;  // with a disabled event; with others beside
  for (const json& event : events) {
    const std::string name = text_at(event, "name"), group = text_at(event, "group");
    const bool is_chosen = std::ranges::find(chosen, name) != chosen.end();
    if (flag_at(event, "enabled") || !is_chosen) {
      partly.insert(group);
    } else if (flag_at(event, "available")) {
      disabled.push_back(name);
      groups.insert(group);
    } else {
      hints.push_back(fmt::format("{} is not available: {}", name, text_at(event, "reason")));
    }
  }
  if (disabled.empty()) return hints;
  const bool whole = disabled.size() > 1 && std::ranges::none_of(groups, [&](const auto& group) {
                       return partly.contains(group);
                     });
  const std::vector<std::string> named =
      whole ? std::vector<std::string>(groups.begin(), groups.end()) : disabled;
  hints.push_back(fmt::format("{} {} not enabled: 'ktracectl events enable {}' enables {}",
                              fmt::join(disabled, ", "), disabled.size() == 1 ? "is" : "are",
                              fmt::join(named, " "), disabled.size() == 1 ? "it" : "them"));
  return hints;
}

void print_hints(const std::vector<std::string>& chosen_events, RpcClient& client,
                 const std::function<std::optional<std::string>(const EventNames& enabled)>& also) {
  auto answer = client.call("events.list");
  if (!answer) return;
  EventNames all_enabled;
  for (const json& event : list_at(*answer, "events"))
    if (flag_at(event, "enabled")) all_enabled.insert(text_at(event, "name"));
  for (const std::string& hint : disabled_events(chosen_events, list_at(*answer, "events")))
    print_stderr("ktracectl: {}\n", printable(hint));
  const auto problem = also ? also(all_enabled) : std::nullopt;
  if (problem)
    print_stderr("ktracectl: {}\n", printable(*problem));
  else if (all_enabled.empty())
    print_stderr("ktracectl: no event is enabled: see 'ktracectl events enable --help'\n");
  auto status = client.call("status");
  if (status && text_at(*status, "state") == "paused")
    print_stderr("ktracectl: tracing is paused: 'ktracectl resume' continues it\n");
}

}  // namespace ktraced
