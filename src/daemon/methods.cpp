// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/methods.h"

#include <spdlog/spdlog.h>

#include <charconv>
#include <chrono>

#include "base/clock.h"
#include "daemon/snapshot_methods.h"
#include "schema/schema_json.h"
#include "trace/ctf_metadata.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr size_t kMaxAddresses = 4096;
constexpr std::chrono::milliseconds kProgressInterval{100};

Result<std::vector<std::string>> texts_parameter(const json& params, const char* key) {
  auto names = params.find(key);
  if (names == params.end() || !names->is_array() || names->empty())
    return fail(ExitCode::usage, "'{}' must be a list of names", key);
  std::vector<std::string> out;
  for (const json& name : *names) {
    if (!name.is_string()) return fail(ExitCode::usage, "'{}' must be a list of strings", key);
    out.push_back(name);
  }
  return out;
}

// False if it is not given.
Result<bool> flag_parameter(const json& params, const char* name) {
  auto value = params.find(name);
  if (value == params.end()) return false;
  if (!value->is_boolean()) return fail(ExitCode::usage, "'{}' must be true or false", name);
  return value->get<bool>();
}

Result<json> list_events(const Tracer& tracer, const json& params) {
  if (!params.contains("tracepoints")) return tracer.events({});
  auto patterns = texts_parameter(params, "tracepoints");
  if (!patterns) return pass_on(patterns);
  return tracer.events(*patterns);
}

Result<json> enable(Tracer& tracer, const json& params, bool enabled) {
  auto names = texts_parameter(params, "names");
  if (!names) return pass_on(names);
  auto chosen = tracer.set_enabled(*names, enabled);
  if (!chosen) return pass_on(chosen);
  json answer = {{"events", chosen->events}};
  if (!chosen->skipped.empty()) answer["skipped"] = chosen->skipped;
  return answer;
}

Result<json> add_probes(Tracer& tracer, const json& params, const Session& session) {
  auto text = params.find("text");
  if (text == params.end() || !text->is_string())
    return fail(ExitCode::usage, "'text' must be one or more definitions of probes");
  auto wanted = flag_parameter(params, "progress");
  if (!wanted) return pass_on(wanted);
  if (!*wanted) return tracer.add_probes(*text);
  std::chrono::steady_clock::time_point last;
  return tracer.add_probes(*text, [&](size_t done, size_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last < kProgressInterval) return;
    last = now;
    session.notify("progress", {{"done", done}, {"total", total}});
  });
}

Result<json> reset(Tracer& tracer, const json& params) {
  auto keep = flag_parameter(params, "keep_history");
  if (!keep) return pass_on(keep);
  auto discarded = tracer.reset(*keep);
  if (!discarded) return pass_on(discarded);
  return json{{"discarded", discarded->unread}, {"history_discarded", discarded->history}};
}

json show_filter(const Tracer& tracer) {
  return {{"filter", filter_to_json(tracer.filter())}, {"on_loan", tracer.filter_loan()}};
}

// For good, or until the client disconnects.
Result<json> set_filter(Tracer& tracer, const json& params, const Peer& peer, Session& session) {
  auto patch = params.find("filter");
  if (patch == params.end()) return fail(ExitCode::usage, "'filter' is missing");
  auto temporary = flag_parameter(params, "while_connected");
  if (!temporary) return pass_on(temporary);
  auto settings = merge_filter(tracer.filter(), *patch);
  if (!settings) return pass_on(settings);
  if (!*temporary) {
    if (auto applied = tracer.set_filter(*settings); !applied) return pass_on(applied);
    return show_filter(tracer);
  }
  const void* key = &session;
  auto lent = tracer.lend_filter(*settings, {.key = key, .pid = peer.pid, .uid = peer.uid});
  if (!lent) return pass_on(lent);
  if (!session.keeps_something())
    session.keep(
        std::shared_ptr<void>(nullptr, [&tracer, key](void*) { tracer.give_filter_back(key); }));
  return show_filter(tracer);
}

// All of it, or the keys given.
Result<json> clear_filter(Tracer& tracer, const json& params) {
  Result<FilterSettings> cleared;
  if (auto keys = params.find("keys"); keys != params.end()) {
    auto names = texts_parameter(params, "keys");
    if (!names) return pass_on(names);
    cleared = without_keys(tracer.filter(), *names);
  }
  if (!cleared) return pass_on(cleared);
  if (auto applied = tracer.set_filter(*cleared); !applied) return pass_on(applied);
  return show_filter(tracer);
}

Result<json> resolve(KernelSymbols& symbols, const json& params) {
  auto addresses = params.find("addresses");
  if (addresses == params.end() || !addresses->is_array() || addresses->size() > kMaxAddresses)
    return fail(ExitCode::usage, "'addresses' must be a list of at most {} hexadecimal strings",
                kMaxAddresses);
  json found = json::object();
  for (const json& entry : *addresses) {
    const auto* text = entry.get_ptr<const std::string*>();
    uint64_t address = 0;
    if (text == nullptr || !text->starts_with("0x") ||
        std::from_chars(text->data() + 2, text->data() + text->size(), address, 16).ptr !=
            text->data() + text->size())
      return fail(ExitCode::usage, "'addresses' holds {}, which is not a hexadecimal string",
                  entry.dump());
    if (auto symbol = symbols.resolve(address)) found[*text] = *symbol;
  }
  return json{{"symbols", std::move(found)}};
}

json subscription(const Tracer& tracer, bool backlog) {
  const uint64_t now = boottime_ns();
  return {{"uuid", uuid_text(tracer.uuid())},
          {"schema", schema_to_json(tracer.schema())},
          {"clock", {{"boottime_ns", now}, {"realtime_ns", clock_ns(CLOCK_REALTIME)}}},
          {"backlog_until_ns", backlog && tracer.has_backlog() ? json(now) : json()},
          {"kernel", tracer.kernel_release()}};
}

void add_queries(ControlServer& server, const MethodTargets& t) {
  server.add("version", Role::read,
             [](const json&, const Peer&) { return json{{"version", KTRACED_VERSION}}; });
  server.add("status", Role::read, [t](const json&, const Peer&) {
    json status = t.tracer.status();
    status["flight"].update(t.snapshots.status());
    status["stream"]["output"] = t.recorder.status();
    status["subscribers"] = t.subscribers.status();
    const std::string no_symbols = t.symbols.reason();
    status["symbols"] = {{"reason", no_symbols.empty() ? json() : json(no_symbols)}};
    return status;
  });
  server.add({"events.list", {"tracepoints"}}, Role::read,
             [t](const json& params, const Peer&) { return list_events(t.tracer, params); });
  server.add("filter.show", Role::read,
             [t](const json&, const Peer&) { return show_filter(t.tracer); });
  server.add("probe.list", Role::read, [t](const json&, const Peer&) { return t.tracer.probes(); });
  server.add({"symbols.resolve", {"addresses"}}, Role::read,
             [t](const json& params, const Peer&) { return resolve(t.symbols, params); });
}

void add_commands(ControlServer& server, const MethodTargets& t) {
  server.add({"events.enable", {"names"}}, Role::admin,
             [t](const json& params, const Peer&) { return enable(t.tracer, params, true); });
  server.add({"events.disable", {"names"}}, Role::admin,
             [t](const json& params, const Peer&) { return enable(t.tracer, params, false); });
  for (bool paused : {true, false})
    server.add(
        paused ? "pause" : "resume", Role::admin, [t, paused](const json&, const Peer& peer) {
          spdlog::info("{} by pid {} (uid {})", paused ? "paused" : "resumed", peer.pid, peer.uid);
          t.tracer.set_paused(paused);
          return json{{"state", paused ? "paused" : "running"}};
        });
  server.add({"reset", {"keep_history"}}, Role::admin,
             [t](const json& params, const Peer&) { return reset(t.tracer, params); });
  server.add("reload", Role::admin, [t](const json&, const Peer&) -> Result<json> {
    auto changed = t.reload();
    if (!changed) return pass_on(changed);
    return json{{"changed", *changed}};
  });
  server.add_session({"probe.add", {"text", "progress"}}, Role::admin,
                     [t](const json& params, const Peer&, Session& session) {
                       return add_probes(t.tracer, params, session);
                     });
  server.add({"probe.remove", {"names"}}, Role::admin,
             [t](const json& params, const Peer&) -> Result<json> {
               auto names = texts_parameter(params, "names");
               if (!names) return pass_on(names);
               return t.tracer.remove_probes(*names);
             });
  server.add("probe.clear", Role::admin,
             [t](const json&, const Peer&) { return t.tracer.clear_probes(); });
  server.add_session({"filter.set", {"filter", "while_connected"}}, Role::admin,
                     [t](const json& params, const Peer& peer, Session& session) {
                       return set_filter(t.tracer, params, peer, session);
                     });
  server.add({"filter.clear", {"keys"}}, Role::admin,
             [t](const json& params, const Peer&) { return clear_filter(t.tracer, params); });
}

}  // namespace

void add_methods(ControlServer& server, const MethodTargets& targets) {
  add_queries(server, targets);
  add_commands(server, targets);
  add_snapshot_methods(server, targets.snapshots, targets.tracer);
  server.add_upgrade(
      {"stream.subscribe", {"backlog"}}, Role::read,
      [targets](const json& params, const Peer& peer) -> Result<json> {
        auto backlog = flag_parameter(params, "backlog");
        if (!backlog) return pass_on(backlog);
        if (auto room = targets.subscribers.check_room(peer); !room) return pass_on(room);
        return subscription(targets.tracer, *backlog);
      },
      [targets](Fd connection, const Peer& peer, const json& params) {
        targets.tracer.prepare_reader(flag_parameter(params, "backlog").value_or(false));
        auto added = targets.subscribers.add(std::move(connection), peer,
                                             [&] { return targets.tracer.names_packets(); });
        targets.tracer.request_pass();
        if (!added)
          spdlog::warn("pid {} cannot read the stream: {}", peer.pid, added.error().message);
      });
}

}  // namespace ktraced
