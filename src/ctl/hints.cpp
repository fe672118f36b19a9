// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/plain_text.h"
#include "base/print_stderr.h"
#include "ctl/json_access.h"

namespace ktraced {

using nlohmann::json;

void print_hints(const std::vector<std::string>& chosen_events, RpcClient& client,
                 const std::function<std::optional<std::string>(const EventNames& enabled)>& also) {
  auto answer = client.call("events.list");
  if (!answer) return;
  EventNames all_enabled;
  for (const json& event : list_at(*answer, "events")) {
    bool enabled = flag_at(event, "enabled");
    std::string name = text_at(event, "name");
    if (enabled) all_enabled.insert(name);
    if (enabled || std::ranges::find(chosen_events, name) == chosen_events.end()) continue;
    if (flag_at(event, "available"))
      print_stderr("ktracectl: {0} is not enabled: 'ktracectl events enable {0}' does it\n", name);
    else
      print_stderr("ktracectl: {} is not available: {}\n", name,
                   printable(text_at(event, "reason")));
  }
  const auto problem = also ? also(all_enabled) : std::nullopt;
  if (problem)
    print_stderr("ktracectl: {}\n", printable(*problem));
  else if (all_enabled.empty())
    print_stderr("ktracectl: no event is enabled: see 'ktracectl events enable --help'\n");
  auto status = client.call("status");
  if (status && text_at(*status, "state") == "paused")
    print_stderr("ktracectl: tracing is paused: 'ktracectl resume' goes on\n");
}

}  // namespace ktraced
