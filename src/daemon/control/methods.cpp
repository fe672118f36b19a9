// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/control/methods.h"

#include <spdlog/spdlog.h>

#include <charconv>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "daemon/config/config.h"
#include "daemon/control/command_methods.h"
#include "daemon/control/snapshot_methods.h"
#include "daemon/control/trace_json.h"
#include "daemon/runtime/json_text.h"
#include "schema/schema_json.h"
#include "trace/directory/ctf_metadata.h"
#include "trace/packet/protocol_version.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr size_t kMaxAddresses = 4096;

void list_events(const MethodTargets& t, const json& params, const Reply& reply) {
  std::vector<std::string> patterns;
  if (params.contains("tracepoints")) {
    auto names = names_parameter(params, "tracepoints");
    if (!names) return reply(propagate(names));
    patterns = std::move(*names);
  }
  CommandQueue& queue = patterns.empty() ? t.lists : t.searches;
  queue.run([t, reply, patterns](const CommandQueue::Token& token) {
    if (!reply.connected()) return;
    auto text = std::make_shared<std::string>(R"({"events":[)");
    t.tracer.event_list().list(
        patterns,
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

Result<json> reset(Tracer& tracer, const json& params) {
  auto keep = flag_parameter(params, "keep_history");
  if (!keep) return propagate(keep);
  auto discarded = tracer.accounts().reset(tracer.stream().drain(), *keep);
  if (!discarded) return propagate(discarded);
  return json{{"discarded", discarded->unread}, {"history_discarded", discarded->history}};
}

json show_filter(const Tracer& tracer) {
  return {{"filter", filter_to_json(tracer.filter().current())},
          {"temporary", temporary_filter_json(tracer.filter())}};
}

// Sets the lasting filter, or a temporary filter until the client disconnects.
Result<json> set_filter(Tracer& tracer, const json& params, const Peer& peer, Session& session) {
  auto patch = params.find("filter");
  if (patch == params.end()) return fail(ExitCode::usage, "'filter' is missing");
  auto temporary = flag_parameter(params, "while_connected");
  if (!temporary) return propagate(temporary);
  auto settings = merge_filter(tracer.filter().current(), *patch);
  if (!settings) return propagate(settings);
  if (!*temporary) {
    if (auto applied = tracer.filter().set(*settings); !applied) return propagate(applied);
    return show_filter(tracer);
  }
  const void* key = &session;
  auto applied =
      tracer.filter().set_temporary(*settings, {.key = key, .pid = peer.pid, .uid = peer.uid});
  if (!applied) return propagate(applied);
  if (!session.keeps_something())
    session.keep(std::shared_ptr<void>(
        nullptr, [&tracer, key](void*) { tracer.filter().end_temporary(key); }));
  return show_filter(tracer);
}

// Clears the whole filter, or only the given keys.
Result<json> clear_filter(Tracer& tracer, const json& params) {
  Result<FilterSettings> cleared;
  if (auto keys = params.find("keys"); keys != params.end()) {
    auto names = names_parameter(params, "keys");
    if (!names) return propagate(names);
    cleared = without_keys(tracer.filter().current(), *names);
  }
  if (!cleared) return propagate(cleared);
  if (auto applied = tracer.filter().set(*cleared); !applied) return propagate(applied);
  return show_filter(tracer);
}

Result<std::vector<uint64_t>> addresses_parameter(const json& params) {
  auto addresses = params.find("addresses");
  if (addresses == params.end() || !addresses->is_array() || addresses->size() > kMaxAddresses)
    return fail(ExitCode::usage, "'addresses' must be a list of at most {} hexadecimal strings",
                kMaxAddresses);
  std::vector<uint64_t> out;
  for (const json& entry : *addresses) {
    const auto* text = entry.get_ptr<const std::string*>();
    uint64_t address = 0;
    if (text == nullptr || !text->starts_with("0x") ||
        std::from_chars(text->data() + 2, text->data() + text->size(), address, 16).ptr !=
            text->data() + text->size())
      return fail(ExitCode::usage, "'addresses' holds {}, which is not a hexadecimal string",
                  entry.dump());
    out.push_back(address);
  }
  return out;
}

// Returns text: converting thousands of names to JSON text is slow, and this runs in the
// background.
Result<std::string> symbols_of(KernelSymbols& symbols, const json& texts,
                               const std::vector<uint64_t>& addresses) {
  json found = json::object();
  for (size_t i = 0; i < addresses.size(); ++i)
    if (auto symbol = symbols.resolve(addresses[i])) found[texts[i].get<std::string>()] = *symbol;
  return json_text({{"symbols", std::move(found)}});
}

void resolve(const MethodTargets& t, const json& params, const Reply& reply) {
  auto addresses = addresses_parameter(params);
  if (!addresses) return reply(propagate(addresses));
  t.resolver.run(
      [&symbols = t.symbols, texts = params["addresses"], addresses = std::move(*addresses)] {
        return symbols_of(symbols, texts, addresses);
      },
      [reply](const Result<std::string>& text) {
        if (!text) return reply(std::unexpected(text.error()));
        reply.text(*text);
      });
}

json status(const MethodTargets& t, const json& snapshots) {
  json status = status_json(t.tracer);
  status["flight"].update(snapshots);
  status["stream"]["output"] = t.recorder.status();
  status["subscribers"] = t.subscribers.status();
  const std::string no_symbols = t.symbols.reason();
  status["symbols"] = {{"reason", no_symbols.empty() ? json() : json(no_symbols)}};
  return status;
}

json subscription(const Tracer& tracer, bool backlog) {
  const uint64_t now = boottime_ns();
  return {{"protocol", kProtocolVersion},
          {"uuid", uuid_text(tracer.metadata().uuid())},
          {"schema", schema_to_json(tracer.schema())},
          {"clock", {{"boottime_ns", now}, {"realtime_ns", clock_ns(CLOCK_REALTIME)}}},
          {"backlog_until_ns", backlog && tracer.stream().has_backlog() ? json(now) : json()},
          {"kernel", tracer.metadata().kernel_release()}};
}

void add_queries(ControlServer& server, const MethodTargets& t) {
  server.add("version", Role::read, [](const json&, const Peer&) {
    return json{{"version", KTRACED_VERSION}, {"protocol", kProtocolVersion}};
  });
  server.add_deferred("status", Role::read, [t](const json&, const Peer&, const Reply& reply) {
    t.snapshots.status([t, reply](const json& snapshots) { reply(status(t, snapshots)); });
  });
  server.add_deferred(
      {"events.list", {"tracepoints"}}, Role::read,
      [t](const json& params, const Peer&, const Reply& reply) { list_events(t, params, reply); });
  server.add("filter.show", Role::read,
             [t](const json&, const Peer&) { return show_filter(t.tracer); });
  server.add("probe.list", Role::read,
             [t](const json&, const Peer&) { return probes_json(t.tracer); });
  server.add_deferred(
      {"symbols.resolve", {"addresses"}}, Role::read,
      [t](const json& params, const Peer&, const Reply& reply) { resolve(t, params, reply); });
}

// Commands that attach and detach (almost) nothing.
void add_quick_commands(ControlServer& server, const MethodTargets& t) {
  server.add({"reset", {"keep_history"}}, Role::admin,
             [t](const json& params, const Peer&) { return reset(t.tracer, params); });
  server.add_session({"filter.set", {"filter", "while_connected"}}, Role::admin,
                     [t](const json& params, const Peer& peer, Session& session) {
                       return set_filter(t.tracer, params, peer, session);
                     });
  server.add({"filter.clear", {"keys"}}, Role::admin,
             [t](const json& params, const Peer&) { return clear_filter(t.tracer, params); });
}

// Connections that will read the stream once all programs are attached.
struct Subscribing {
  size_t count = 0;
};

void add_subscriber(const MethodTargets& t, Fd connection, const Peer& peer, bool backlog) {
  if (!backlog) t.tracer.stream().prepare_reader();
  auto added =
      t.subscribers.add(std::move(connection), peer, [&] { return t.tracer.metadata().packets(); });
  t.tracer.stream().drain().request_batch();
  if (!added) spdlog::warn("pid {} cannot read the stream: {}", peer.pid, added.error().message);
}

// The client gets nothing before the programs are attached: its first packet shows that tracing is
// active. A backlog waits for its first reader: the stream starts once there is one.
void subscribe(const MethodTargets& t, const std::shared_ptr<Subscribing>& waiting, Fd connection,
               const Peer& peer, bool wants_backlog) {
  const bool backlog = wants_backlog && t.tracer.stream().has_backlog();
  if (!backlog) t.tracer.stream().prepare_reader();
  ++waiting->count;
  auto fd = std::make_shared<Fd>(std::move(connection));
  auto expected = t.tracer.stream().expect_reader();
  t.tracer.attacher().when_attached(
      [t, waiting, fd, peer, backlog, expected](const Result<>& attached) {
        --waiting->count;
        if (attached) add_subscriber(t, std::move(*fd), peer, backlog);
      });
}

void add_subscription(ControlServer& server, const MethodTargets& t) {
  auto waiting = std::make_shared<Subscribing>();
  server.add_upgrade(
      {"stream.subscribe", {"backlog"}}, Role::read,
      [t, waiting](const json& params, const Peer& peer) -> Result<json> {
        auto backlog = flag_parameter(params, "backlog");
        if (!backlog) return propagate(backlog);
        if (auto room = t.subscribers.check_room(peer, waiting->count); !room)
          return propagate(room);
        return subscription(t.tracer, *backlog);
      },
      [t, waiting](Fd connection, const Peer& peer, const json& params) {
        subscribe(t, waiting, std::move(connection), peer,
                  flag_parameter(params, "backlog").value_or(false));
      });
}

}  // namespace

void add_methods(ControlServer& server, const MethodTargets& targets) {
  add_queries(server, targets);
  add_quick_commands(server, targets);
  add_commands(server, targets);
  add_snapshot_methods(server, targets.snapshots, targets.tracer, targets.commands);
  add_subscription(server, targets);
}

}  // namespace ktraced
