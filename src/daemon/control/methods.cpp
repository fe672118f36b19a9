// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/control/methods.h"

#include <spdlog/spdlog.h>

#include <charconv>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "bpf/shared_state.h"
#include "daemon/access/address_text.h"
#include "daemon/access/reader_checks.h"
#include "daemon/config/config.h"
#include "daemon/control/command_methods.h"
#include "daemon/control/output_json.h"
#include "daemon/control/parameters.h"
#include "daemon/control/session_methods.h"
#include "daemon/control/trace_json.h"
#include "daemon/runtime/json_text.h"
#include "daemon/sessions/session_rules.h"
#include "kernel/symbols/proc_threads.h"
#include "trace/packet/protocol_version.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr size_t kMaxAddresses = 4096;
constexpr size_t kMaxPids = FILTER_IDS_MAX;  // a client translates the ids of a filter

void list_events(const MethodTargets& t, const json& params, const Peer& peer, const Reply& reply) {
  auto patterns = names_if_given(params, "tracepoints");
  if (!patterns) return reply(propagate(patterns));
  const Priority priority = priority_of(peer);
  ListQueues& lists = priority == Priority::low ? t.reader_lists : t.lists;
  CommandQueue& queue = patterns->empty() ? lists.events : lists.searches;
  queue.run([t, priority, reply, patterns = *patterns](const CommandQueue::Token& token) {
    if (!reply.connected()) return;
    auto text = std::make_shared<std::string>(R"({"events":[)");
    t.tracer.event_list.list(
        patterns, priority,
        [text](const ListedEvent& event) {
          if (text->back() != '[') *text += ',';
          *text += json_text(listed_event_json(event));
        },
        [reply, token, text](const Result<>& listed) {
          if (!listed) return reply(std::unexpected(listed.error()));
          reply.text(*text + "]}");
        });
  });
}

void reset(const TracerParts& tracer, const json& params, const Peer&, const Reply& reply) {
  auto keep = flag_parameter(params, "keep_history");
  if (!keep) return reply(propagate(keep));
  auto session = session_parameter(tracer, params);
  if (!session) return reply(propagate(session));
  auto discarded = tracer.session_control.reset(**session, *keep);
  if (!discarded) return reply(propagate(discarded));
  reply(json{{"discarded", discarded->unread}, {"history_discarded", discarded->history}});
}

json filter_json(const TracerParts& tracer, const Session& session) {
  return {{"filter", filter_to_json(filter_of(tracer.sessions, session))}};
}

void show_filter(const MethodTargets& t, const json& params, const Peer& peer, const Reply& reply) {
  auto session = visible_session(t, params, peer);
  if (!session) return reply(propagate(session));
  reply(filter_json(t.tracer, **session));
}

// What the filter of a session becomes.
using ChangedFilter = Result<FilterSettings> (*)(const TracerParts&, const json&, const Peer&);

Result<FilterSettings> with_values(const TracerParts& tracer, const json& params,
                                   const Peer& peer) {
  auto patch = params.find("filter");
  if (patch == params.end()) return fail(ExitCode::usage, "'filter' is missing");
  if (auto pids = check_filter_pids(params, peer); !pids) return propagate(pids);
  auto session = session_parameter(tracer, params);
  if (!session) return propagate(session);
  return merge_filter(filter_of(tracer.sessions, **session), *patch);
}

// Clears the whole filter, or only the given keys.
Result<FilterSettings> without_values(const TracerParts& tracer, const json& params, const Peer&) {
  auto session = session_parameter(tracer, params);
  if (!session) return propagate(session);
  auto keys = names_if_given(params, "keys");
  if (!keys) return propagate(keys);
  if (keys->empty()) return FilterSettings{};
  return without_keys(filter_of(tracer.sessions, **session), *keys);
}

// The session may have ended since its filter was computed.
Result<FinishCommand> set_filter(const TracerParts& tracer, const json& params,
                                 const FilterSettings& settings) {
  auto session = session_parameter(tracer, params);
  if (!session) return propagate(session);
  if (auto applied = tracer.session_control.set_filter(**session, settings); !applied)
    return propagate(applied);
  return answer_with(filter_json(tracer, **session));
}

// The old filter stays until everything that the new one needs is attached.
void change_filter(const TracerParts& tracer, ChangedFilter changed, const json& params,
                   const Peer& peer, const Reply& reply, const CommandQueue::Token& token) {
  auto settings = changed(tracer, params, peer);
  if (!settings) return finish_command(tracer, token, reply, propagate(settings));
  TaskTracking::Tracked tracked;
  tracked.add(settings->tasks());
  tracer.reconciler.prepare(tracked, [&tracer, params, reply, token,
                                      settings = std::move(*settings)](const Result<>& prepared) {
    finish_command(
        tracer, token, reply,
        prepared ? set_filter(tracer, params, settings) : std::unexpected(prepared.error()));
  });
}

Result<uint64_t> read_address(const json& entry) {
  const auto* text = entry.get_ptr<const std::string*>();
  uint64_t address = 0;
  if (text == nullptr || !text->starts_with("0x") ||
      std::from_chars(text->data() + 2, text->data() + text->size(), address, 16).ptr !=
          text->data() + text->size())
    return fail(ExitCode::usage, "'addresses' holds {}, which is not a hexadecimal string",
                entry.dump());
  return address;
}

// Returns text: converting thousands of names to JSON text is slow, and this runs in the
// background.
Result<std::string> symbols_of(KernelSymbols& symbols, const json& texts,
                               const std::vector<uint64_t>& addresses) {
  json found = json::object();
  for (size_t i = 0; i < addresses.size(); ++i) {
    const uint64_t shown = read_address(texts[i]).value_or(0);
    std::map<uint64_t, std::string> names;
    add_symbols(
        shown, addresses[i], [&symbols](uint64_t at) { return symbols.resolve(at); }, names);
    for (auto& [address, name] : names)
      found[address == shown ? texts[i].get<std::string>() : fmt::format("0x{:x}", address)] =
          std::move(name);
  }
  return json_text({{"symbols", std::move(found)}});
}

// A client that gets pseudonyms cannot ask for addresses: that would show where the kernel is.
void resolve_symbols(const MethodTargets& t, const json& params, const Peer& peer,
                     const Reply& reply) {
  auto addresses =
      list_parameter(params, "addresses", kMaxAddresses, "hexadecimal strings", read_address);
  if (!addresses) return reply(propagate(addresses));
  const bool hidden = hides_addresses(t.access, peer);
  for (uint64_t& address : *addresses)
    address = t.access.pseudonyms().reveal(address).value_or(hidden ? 0 : address);
  t.resolver.run(
      [&symbols = t.symbols, texts = params["addresses"], addresses = std::move(*addresses)] {
        return symbols_of(symbols, texts, addresses);
      },
      [reply](const Result<std::string>& text) {
        if (!text) return reply(std::unexpected(text.error()));
        reply.text(*text);
      },
      priority_of(peer));
}

Result<uint32_t> read_pid(const json& entry) {
  const uint64_t number = entry.is_number_unsigned() ? entry.get<uint64_t>() : 0;
  if (number == 0 || number > INT32_MAX)
    return fail(ExitCode::usage, "'pids' holds {}, which is no id of a process or thread",
                json_text(entry));
  return static_cast<uint32_t>(number);
}

// Translates ids from the pid namespace of the client. In the background: many processes are looked
// at.
void resolve_pids(const MethodTargets& t, const json& params, const Peer& peer,
                  const Reply& reply) {
  auto pids = list_parameter(params, "pids", kMaxPids, "ids of processes or threads", read_pid);
  if (!pids) return reply(propagate(pids));
  if (auto same = check_sees_kernel_pids(); !same) return reply(propagate(same));
  t.resolver.run(
      [client = static_cast<uint32_t>(peer.pid), pids = std::set(pids->begin(), pids->end())] {
        return kernel_pids(client, pids);
      },
      [reply](const Result<std::map<uint32_t, uint32_t>>& found) {
        if (!found) return reply(std::unexpected(found.error()));
        json translated = json::object();
        for (const auto& [pid, kernel_pid] : *found) translated[std::to_string(pid)] = kernel_pid;
        reply(json{{"pids", std::move(translated)}});
      },
      priority_of(peer));
}

json status(const MethodTargets& t, const Peer& peer, const SnapshotsStatus& snapshots) {
  json status = status_json(t.tracer);
  status["flight"].update(snapshots_status_json(snapshots));
  if (!check_unconfined(t.access, peer, "a snapshot")) status["flight"].erase("last_snapshot");
  status["stream"]["output"] = output_json(t.recorder.status());
  status["subscribers"] = subscribers_json(t.subscribers.status());
  remove_others(t.access, peer, status["sessions"]);
  remove_others(t.access, peer, status["subscribers"]);
  const ReaderRules rules = t.access.rules();
  status["readers"] = {{"addresses", rules.real_addresses ? "real" : "pseudonyms"},
                       {"see", rules.own_only ? "own" : "all"}};
  status["metrics"] = json::array();
  for (const MetricsPlace& place : t.metrics_places())
    status["metrics"].push_back({{"address", place.address.text()}, {"passed", place.passed}});
  status["symbols"] = {{"reason", text_or_null(t.symbols.reason())}};
  return status;
}

void add_queries(ControlServer& server, const MethodTargets& t) {
  server.add("version", Role::read, [](const json&, const Peer&, const Reply& reply) {
    reply(json{{"version", KTRACED_VERSION}, {"protocol", kProtocolVersion}});
  });
  server.add("status", Role::read, [t](const json&, const Peer& peer, const Reply& reply) {
    t.snapshots.status(
        [t, peer, reply](const SnapshotsStatus& snapshots) { reply(status(t, peer, snapshots)); },
        priority_of(peer));
  });
  server.add({"events.list", {"tracepoints"}}, Role::read, std::bind_front(list_events, t));
  server.add({"filter.show", {"session"}}, Role::read, std::bind_front(show_filter, t));
  server.add("probe.list", Role::read,
             [t](const json&, const Peer&, const Reply& reply) { reply(probes_json(t.tracer)); });
  server.add({"symbols.resolve", {"addresses"}}, Role::read, std::bind_front(resolve_symbols, t));
  server.add({"pids.resolve", {"pids"}}, Role::read, std::bind_front(resolve_pids, t));
}

void add_filter_commands(ControlServer& server, const MethodTargets& t) {
  const auto add = [&](MethodName name, ChangedFilter changed) {
    server.add(
        std::move(name), Role::admin,
        [&tracer = t.tracer, &commands = t.commands, changed](const json& params, const Peer& peer,
                                                              const Reply& reply) {
          commands.run([&tracer, changed, params, peer, reply](const CommandQueue::Token& token) {
            change_filter(tracer, changed, params, peer, reply, token);
          });
        });
  };
  add({"filter.set", {"filter", "kernel_pids", "session"}}, with_values);
  add({"filter.clear", {"keys", "session"}}, without_values);
}

}  // namespace

void add_methods(ControlServer& server, const MethodTargets& targets) {
  server.edit_lines([&access = targets.access](const Peer& peer, std::string& line) {
    if (hides_addresses(access, peer)) blank_addresses(line);
  });
  add_queries(server, targets);
  server.add({"reset", {"keep_history", "session"}}, Role::admin,
             std::bind_front(reset, std::ref(targets.tracer)));
  add_filter_commands(server, targets);
  add_commands(server, targets);
  add_snapshot_methods(server, targets);
  add_session_methods(server, targets);
  add_overhead_method(server, targets);
}

}  // namespace ktraced
