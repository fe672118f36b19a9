// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/views/hints.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/print_stderr.h"
#include "base/text/json_access.h"
#include "base/text/plain_text.h"
#include "ctl/input/filter_args.h"

namespace ktraced {

using nlohmann::json;

std::vector<std::string> unavailable_events(const std::vector<std::string>& chosen,
                                            const json& events) {
  std::vector<std::string> hints;
  for (const json& event : events) {
    const std::string name = text_at(event, "name");
    if (!flag_at(event, "available") && std::ranges::find(chosen, name) != chosen.end())
      hints.push_back(fmt::format("{} is not available: {}", name, text_at(event, "reason")));
  }
  return hints;
}

std::vector<std::string> session_hints(const json& session) {
  std::vector<std::string> hints;
  if (!flag_at(session, "own_events") && list_at(session, "events").empty())
    hints.emplace_back(
        "no event is enabled: name some with --event, or see 'ktracectl events enable --help'");
  // A client that names events may not know of the filter.
  const auto filter = filter_to_args(member(session, "filter"));
  if (flag_at(session, "own_events") && !flag_at(session, "own_filter") && !filter.empty())
    hints.push_back(fmt::format("the filter of the recorder applies: {}", fmt::join(filter, " ")));
  if (text_at(session, "state") == "paused")
    hints.emplace_back("tracing is paused: 'ktracectl resume' continues it");
  return hints;
}

void print_hints(RpcClient& client, const std::string& session,
                 const std::vector<std::string>& chosen,
                 const std::function<std::optional<std::string>(const EventNames& enabled)>& also) {
  const auto print = [](const std::string& hint) {
    print_stderr("ktracectl: {}\n", printable(hint));
  };
  if (!chosen.empty())
    if (const auto listed = client.call("events.list"))
      for (const std::string& hint : unavailable_events(chosen, list_at(*listed, "events")))
        print(hint);
  const auto shown = client.call("session.show", {{"session", session}});
  if (!shown) return;
  for (const std::string& hint : session_hints(*shown)) print(hint);
  const auto enabled = texts_at(*shown, "events");
  if (!also || enabled.empty()) return;
  if (const auto problem = also(EventNames(enabled.begin(), enabled.end()))) print(*problem);
}

}  // namespace ktraced
