// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/control/session_methods.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/text/plain_text.h"
#include "daemon/access/reader_checks.h"
#include "daemon/config/config.h"
#include "daemon/control/command_methods.h"
#include "daemon/control/parameters.h"
#include "daemon/control/trace_json.h"
#include "daemon/log/audit.h"
#include "daemon/sessions/session_rules.h"
#include "kernel/stacks/stack_programs.h"
#include "schema/schema_json.h"
#include "trace/directory/ctf_metadata.h"
#include "trace/packet/protocol_version.h"

namespace ktraced {
namespace {

using nlohmann::json;

// What a client asks for, as it has written it.
struct StreamRequest {
  SessionRequest session;
  std::vector<std::string> events;  // names, groups and patterns; empty: those of the recorder
  Peer peer;
};

// All sessions share the room for values, so clients that may only read get a part of it.
Result<> check_few(const FilterSide& side) {
  constexpr size_t kFollowed = 4, kIds = 512;
  if (side.follow.size() > kFollowed || side.pid.size() + side.uid.size() > kIds)
    return fail(ExitCode::no_permission,
                "a filter with more than {} followed processes, or {} process and user ids, is for "
                "administrators: root, or a uid of control.admin_uids in the configuration",
                kFollowed, kIds);
  return {};
}

// Checks the filter of a client that may only read, before it is read: looking up the names of
// users takes a time that nobody knows.
Result<> check_numbers(const json& filter) {
  if (!filter.is_object()) return {};
  if (const auto uids = filter.find("uid"); uids != filter.end() && uids->is_array())
    for (const json& uid : *uids)
      if (uid.is_string())
        return fail(ExitCode::no_permission,
                    "filter: users by name are for administrators: write the uid of '{}'",
                    printable(uid.get_ref<const std::string&>()));
  const auto exclude = filter.find("exclude");
  return exclude == filter.end() ? Result<>() : check_numbers(*exclude);
}

Result<StreamRequest> read_stream_request(const json& params, const Peer& peer) {
  StreamRequest request{.session = {}, .events = {}, .peer = peer};
  request.session.owner.pid = peer.pid;
  request.session.owner.uid = peer.uid;
  request.session.owner.only_reads = peer.role != Role::admin;
  auto name = parameter<std::string>(params, "name", "", "the name of the new session",
                                     [](const std::string& text) { return !text.empty(); });
  if (!name) return propagate(name);
  request.session.name = std::move(*name);
  auto ring_kb = parameter<uint64_t>(
      params, "buffer_kb", 0,
      fmt::format("a power of two from {} to {}", kStreamRingKbMin, kStreamRingKbMax),
      [](uint64_t kb) {
        return kb >= kStreamRingKbMin && kb <= kStreamRingKbMax && std::has_single_bit(kb);
      });
  if (!ring_kb) return propagate(ring_kb);
  request.session.ring_bytes = *ring_kb << 10;
  auto events = names_if_given(params, "events");
  if (!events) return propagate(events);
  request.events = std::move(*events);
  auto stacks = names_if_given(params, "stacks");
  if (!stacks) return propagate(stacks);
  if (!stacks->empty()) request.session.stacks = EventSet(stacks->begin(), stacks->end());
  if (const auto filter = params.find("filter"); filter != params.end()) {
    if (peer.role != Role::admin)
      if (auto numbers = check_numbers(*filter); !numbers) return propagate(numbers);
    if (auto pids = check_filter_pids(params, peer); !pids) return propagate(pids);
    auto settings = merge_filter({}, *filter);
    if (!settings) return propagate(settings);
    if (peer.role != Role::admin)
      for (const FilterSide* side : {&settings->include, &settings->exclude})
        if (auto few = check_few(*side); !few) return propagate(few);
    request.session.filter = std::move(*settings);
  }
  return request;
}

// Clients that may only read cannot load programs into the kernel: other tracepoints must have been
// enabled by an administrator.
Result<> check_known(const Schema& schema, const std::string& name) {
  const bool built_in_pattern = name.contains('*') && !name.contains(':');
  if (built_in_pattern || schema.find(name) != nullptr ||
      std::ranges::any_of(schema.events(), [&](const Event& event) {
        return !is_dynamic(event) && event.group == name;
      }))
    return {};
  return fail(ExitCode::no_permission,
              "'{}' is no event that has been enabled; others are for administrators: root, or a "
              "uid of control.admin_uids in the configuration",
              printable(name));
}

// Clients that may only read cannot select what has data of others, see may_record(). Patterns
// leave it out.
Result<> check_selectable(const StreamRequest& request, ChosenEvents& chosen) {
  std::erase_if(chosen.events, is_for_administrators);
  for (const std::string& name : request.events) {
    const bool samples = name == kSampleEvent || name == "sampling";
    if (samples || has_strings(name) || name == "strings")
      return fail(ExitCode::no_permission,
                  "'{}' has {} of all users' processes: only administrators may select it; a "
                  "session that selects no events and no tasks has those that the recorder records",
                  printable(name), samples ? "stacks" : "strings");
  }
  return {};
}

// Only its own processes, if the client sees no others.
Result<> confine(const ReaderAccess& access, StreamRequest& request) {
  SessionOwner& owner = request.session.owner;
  owner.real_addresses = !hides_addresses(access, request.peer);
  owner.real_user_addresses = !hides_user_addresses(access, request.peer);
  owner.own_only = is_confined(access, request.peer);
  if (!owner.own_only) return {};
  for (const std::string& name : request.events)
    if (name.contains(':'))
      if (auto all = check_unconfined(access, request.peer, "a tracepoint or probe"); !all)
        return all;
  if (!request.session.filter) return {};
  for (const uint32_t uid : request.session.filter->include.uid)
    if (uid != owner.uid) return check_unconfined(access, request.peer, "a filter of other uids");
  return {};
}

Result<> choose_events(const TracerParts& tracer, StreamRequest& request) {
  if (request.events.empty()) return {};
  ChosenEvents chosen;
  for (const std::string& name : request.events) {
    if (request.peer.role != Role::admin)
      if (auto known = check_known(tracer.schema, name); !known) return known;
    if (auto found = tracer.resolver.choose(name, true, chosen); !found) return found;
  }
  if (request.peer.role != Role::admin)
    if (auto checked = check_selectable(request, chosen); !checked) return checked;
  request.session.events = EventSet(chosen.events.begin(), chosen.events.end());
  return {};
}

// Stacks slow all processes down, and have addresses of all users' processes. A client that may
// only read has those that the recorder records.
Result<> check_stacks(const TracerParts& tracer, const StreamRequest& request) {
  if (!request.session.stacks) return {};
  if (request.peer.role != Role::admin || request.session.owner.own_only)
    return fail(ExitCode::no_permission,
                "stacks are for administrators: root, or a uid of control.admin_uids in the "
                "configuration; a session that selects no events and no tasks has those that the "
                "recorder records");
  const EventSet& events =
      request.session.events ? *request.session.events : tracer.sessions.recorder_events();
  for (const std::string& name : *request.session.stacks) {
    if (const auto reason = StackPrograms::why_not(name))
      return fail(ExitCode::usage, "stacks: {}", *reason);
    if (!events.contains(name))
      return fail(
          ExitCode::usage,
          "stacks: the session has no event '{}': select it too, in \"events\" or with --event",
          name);
  }
  return {};
}

json description(const TracerParts& tracer, const Session& session) {
  const uint64_t now = boottime_ns();
  const uint64_t wall_now = now + static_cast<uint64_t>(clock_offset_ns());
  json schema = schema_to_json(tracer.schema);
  schema["stacks"] = !stacks_of(tracer.sessions, session).empty();
  return {{"protocol", kProtocolVersion},
          {"session", session.name},
          {"uuid", uuid_text(tracer.metadata.uuid())},
          {"schema", std::move(schema)},
          {"clock", {{"boottime_ns", now}, {"realtime_ns", wall_now}}},
          {"kernel", tracer.metadata.kernel_release()}};
}

HiddenAddresses hidden_from(const SessionOwner& owner) {
  return {.kernel = !owner.real_addresses, .user = !owner.real_user_addresses};
}

// Rewrites the packets of a session whose client does not get all addresses, in the thread that
// publishes.
SessionControl::Publish publisher(const MethodTargets& t, const SessionOwner& owner,
                                  uint32_t session) {
  if (owner.gets_all_addresses())
    return [&subscribers = t.subscribers, session](std::span<const PacketBytes> batch, bool last) {
      return subscribers.publish(session, batch, last);
    };
  const auto mask =
      std::make_shared<AddressMask>(t.access.pseudonyms(), t.tracer.schema, hidden_from(owner));
  return
      [&subscribers = t.subscribers, session, mask](std::span<const PacketBytes> batch, bool last) {
        return subscribers.publish(session, mask->masked(batch), last);
      };
}

std::vector<PacketBytes> first_packets(const MethodTargets& t, const Session& session) {
  const auto& owner = session.owner;
  auto packets = t.tracer.metadata.packets(
      session.number, owner.own_only ? std::optional(owner.uid) : std::nullopt);
  if (owner.gets_all_addresses()) return packets;
  return AddressMask(t.access.pseudonyms(), {}, hidden_from(owner)).masked(packets);
}

void add_subscriber(const MethodTargets& t, const SessionControl::Open& session, Fd connection,
                    const Peer& peer) {
  const uint32_t number = session->number;
  if (!session->has_sink) return;  // it has been ended: this closes the connection
  auto added =
      t.subscribers.add(std::move(connection),
                        {.session = number, .name = session->name, .peer = peer, .keep = session},
                        [&] { return first_packets(t, *session); });
  t.tracer.session_control.drain().request_batch(number);
  if (!added) spdlog::warn("pid {} cannot read the stream: {}", peer.pid, added.error().message);
}

// The events that a client has named must be attached, and their stacks. Those of a pattern need
// not.
Result<> check_attached(const TracerParts& tracer, const StreamRequest& request,
                        const Session& session) {
  for (const std::string& event : session.own_stacks.value_or(EventSet()))
    if (const auto refused = tracer.stacks.refused().find(event);
        refused != tracer.stacks.refused().end())
      return fail(ExitCode::unavailable, "{} has no stacks: {}", event, refused->second);
  if (!session.own_events) return {};
  for (const std::string& name : request.events)
    if (const std::string* failure = tracer.availability.failure(name))
      return fail(ExitCode::unavailable, "{}", *failure);
  return {};
}

// The answer comes when the programs are attached: from then on the session has every event. A
// client that disconnects before takes its session with it.
void open_session(const MethodTargets& t, const StreamRequest& request, const Reply& reply,
                  const CommandQueue::Token& token) {
  if (!reply.connected()) return;
  auto opened = t.tracer.session_control.open(request.session, [&](uint32_t session) {
    return publisher(t, request.session.owner, session);
  });
  if (!opened) return reply(propagate(opened));
  if (request.peer.role != Role::admin)
    log_request(request.peer, "stream.subscribe", {{"session", (*opened)->name}});
  t.tracer.attacher.when_attached(
      [t, request, reply, token, session = *opened](const Result<>& attached) {
        if (!attached) return reply(std::unexpected(attached.error()));
        if (auto checked = check_attached(t.tracer, request, *session); !checked)
          return reply(propagate(checked));
        reply.hand_over(description(t.tracer, *session),
                        [t, session, role = request.peer.role](Fd connection, Peer peer) {
                          // A reload has taken the role that decided what the stream carries.
                          if (peer.role < role) return;
                          peer.role = role;
                          add_subscriber(t, session, std::move(connection), peer);
                        });
      });
}

// What the filter needs is attached before there is a session.
void prepare_session(const MethodTargets& t, StreamRequest request, const Reply& reply,
                     const CommandQueue::Token& token) {
  if (!reply.connected()) return;
  if (auto confined = confine(t.access, request); !confined) return reply(propagate(confined));
  if (auto chosen = choose_events(t.tracer, request); !chosen) return reply(propagate(chosen));
  if (auto stacks = check_stacks(t.tracer, request); !stacks) return reply(propagate(stacks));
  TaskTracking::Tracked tracked;
  if (const auto& filter = request.session.filter) tracked.add(filter->tasks());
  t.tracer.reconciler.prepare(
      tracked, [t, request = std::move(request), reply, token](const Result<>& prepared) {
        if (!prepared) return reply(std::unexpected(prepared.error()));
        open_session(t, request, reply, token);
      });
}

void subscribe(const MethodTargets& t, const json& params, const Peer& peer, const Reply& reply) {
  auto request = read_stream_request(params, peer);
  if (!request) return reply(propagate(request));
  t.commands.run(
      [t, request = std::move(*request), reply](const CommandQueue::Token& token) {
        if (request.peer.role != Role::admin || request.events.empty())
          return prepare_session(t, request, reply, token);
        t.tracer.resolver.prepare_tracepoints(request.events,
                                              [t, request, reply, token](const Tracepoints::Kept&) {
                                                prepare_session(t, request, reply, token);
                                              });
      },
      priority_of(peer));
}

void list_sessions(const MethodTargets& t, const json&, const Peer& peer, const Reply& reply) {
  json sessions = sessions_json(t.tracer.status.sessions());
  remove_others(t.access, peer, sessions);
  reply(json{{"sessions", std::move(sessions)}});
}

void show_session(const MethodTargets& t, const json& params, const Peer& peer,
                  const Reply& reply) {
  auto session = visible_session(t, params, peer);
  if (!session) return reply(propagate(session));
  reply(session_json(t.tracer.status.of(**session), true));
}

}  // namespace

Result<Session*> visible_session(const MethodTargets& t, const json& params, const Peer& peer) {
  auto session = session_parameter(t.tracer, params);
  if (session && is_confined(t.access, peer) && (*session)->is_client() &&
      (*session)->owner.uid != peer.uid)
    return no_session((*session)->name);  // not even that it exists
  return session;
}

void add_session_methods(ControlServer& server, const MethodTargets& t) {
  server.add("session.list", Role::read, std::bind_front(list_sessions, t));
  server.add({"session.show", {"session"}}, Role::read, std::bind_front(show_session, t));
  server.add({"stream.subscribe",
              {"name", "events", "stacks", "filter", "kernel_pids", "buffer_kb"},
              Logged::always},
             Role::read, std::bind_front(subscribe, t));
}

}  // namespace ktraced
