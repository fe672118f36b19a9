// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/control/command_methods.h"

#include <spdlog/spdlog.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <utility>
#include <variant>

#include "base/text/json_access.h"
#include "daemon/control/parameters.h"
#include "daemon/control/trace_json.h"
#include "daemon/sessions/session_rules.h"
#include "kernel/probes/probe_grammar.h"
#include "kernel/symbols/proc_threads.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kProgressInterval{100};

// Changes the events of a session. One that follows the recorder gets events of its own.
Result<ChosenEvents> change_events(const TracerParts& tracer, const json& params,
                                   const std::vector<std::string>& names, bool enabled) {
  auto session = session_parameter(tracer, params);
  if (!session) return propagate(session);
  if ((*session)->is_recorder()) return tracer.events.set_enabled(names, enabled);
  EventSet events = events_of(tracer.sessions, **session);
  auto chosen = tracer.events.set_enabled(names, enabled, events);
  if (!chosen) return chosen;
  (*session)->own_events = std::move(events);
  tracer.reconciler.reconcile();
  return chosen;
}

// The session may have ended since change_events().
Result<ChosenEvents> check_events(const TracerParts& tracer, const json& params,
                                  const std::vector<std::string>& names,
                                  const ChosenEvents& chosen) {
  auto session = session_parameter(tracer, params);
  if (!session) return propagate(session);
  if ((*session)->is_recorder()) return tracer.events.check_enabled(names, chosen);
  if (!(*session)->own_events)
    return fail(ExitCode::unavailable, "the session '{}' has ended", (*session)->name);
  return tracer.events.check_enabled(names, chosen, *(*session)->own_events);
}

Result<FinishCommand> begin_enabling(const TracerParts& tracer,
                                     const std::vector<std::string>& names, const json& params,
                                     const Tracepoints::Kept& kept) {
  auto chosen = change_events(tracer, params, names, true);
  if (!chosen) return propagate(chosen);
  return [&tracer, names, params, kept, chosen = std::move(*chosen)]() -> Result<json> {
    auto checked = check_events(tracer, params, names, chosen);
    if (!checked) return propagate(checked);
    json answer = {{"events", checked->events}};
    if (!checked->skipped.empty()) answer["skipped"] = checked->skipped;
    return answer;
  };
}

void enable(const MethodTargets& t, const json& params, const Peer&, const Reply& reply) {
  auto names = names_parameter(params, "names");
  if (!names) return reply(propagate(names));
  t.commands.run([&tracer = t.tracer, reply, params,
                  names = std::move(*names)](const CommandQueue::Token& token) {
    tracer.resolver.prepare_tracepoints(
        names, [&tracer, reply, params, names, token](const Tracepoints::Kept& kept) {
          finish_command(tracer, token, reply, begin_enabling(tracer, names, params, kept));
        });
  });
}

Result<FinishCommand> disable(const TracerParts& tracer, const json& params, const Peer&) {
  auto names = names_parameter(params, "names");
  if (!names) return propagate(names);
  auto chosen = change_events(tracer, params, *names, false);
  if (!chosen) return propagate(chosen);
  return answer_with({{"events", chosen->events}});
}

Result<FinishCommand> set_paused(const TracerParts& tracer, bool paused, const json& params,
                                 const Peer& peer) {
  auto session = session_parameter(tracer, params);
  if (!session) return propagate(session);
  spdlog::info("session {} {} by pid {} (uid {})", (*session)->name, paused ? "paused" : "resumed",
               peer.pid, peer.uid);
  tracer.session_control.set_paused(**session, paused);
  return answer_with({{"state", paused ? "paused" : "running"}});
}

Probes::Progress progress_to(const Reply& reply) {
  return
      [reply, last = std::chrono::steady_clock::time_point()](size_t done, size_t total) mutable {
        const auto now = std::chrono::steady_clock::now();
        if (now - last < kProgressInterval) return;
        last = now;
        reply.notify("progress", {{"done", done}, {"total", total}});
      };
}

// The definitions in a request, and whether it requests progress notifications.
struct ProbesToAdd {
  std::vector<ProbeCommand> commands;
  bool progress = false;
};

Result<ProbesToAdd> probes_to_add(const json& params) {
  auto text = parameter<std::string>(params, "text", {}, "one or more definitions of probes");
  if (!text) return propagate(text);
  auto progress = flag_parameter(params, "progress");
  if (!progress) return propagate(progress);
  auto commands = parse_probes(*text);
  if (!commands) return propagate(commands);
  if (commands->size() > kNamesMax)
    return fail(ExitCode::usage,
                "'text' has {} definitions; at most {} are possible in one request",
                commands->size(), kNamesMax);
  return ProbesToAdd{std::move(*commands), *progress};
}

Result<FinishCommand> begin_adding(const TracerParts& tracer, const ProbesToAdd& probes,
                                   const Reply& reply, const Result<Probes::Kept>& kept) {
  if (!kept) return std::unexpected(kept.error());
  auto added = tracer.probes.add(probes.commands, probes.progress ? progress_to(reply) : nullptr);
  if (!added) return propagate(added);
  return [&tracer, change = *added, kept]() -> Result<json> {
    auto checked = tracer.probes.check_added(*change);
    if (!checked) return propagate(checked);
    json list = json::array();
    for (const ProbeInfo& probe : *checked) list.push_back(probe_json(tracer, probe));
    return json{{"added", std::move(list)}, {"removed", change->removed}};
  };
}

void add_probes(const MethodTargets& t, const json& params, const Peer&, const Reply& reply) {
  auto probes = probes_to_add(params);
  if (!probes) return reply(propagate(probes));
  t.commands.run([&tracer = t.tracer, reply,
                  probes = std::move(*probes)](const CommandQueue::Token& token) {
    std::vector<ProbeDefinition> definitions;
    for (const ProbeCommand& command : probes.commands)
      if (const auto* probe = std::get_if<ProbeDefinition>(&command)) definitions.push_back(*probe);
    tracer.probe_lookup.prepare(
        std::move(definitions), [&tracer, reply, probes, token](const Result<Probes::Kept>& kept) {
          finish_command(tracer, token, reply, begin_adding(tracer, probes, reply, kept));
        });
  });
}

Result<FinishCommand> remove_probes(const TracerParts& tracer, const json& params, const Peer&) {
  auto names = names_parameter(params, "names");
  if (!names) return propagate(names);
  auto removed = tracer.probes.remove(*names);
  if (!removed) return propagate(removed);
  return answer_with({{"removed", *removed}});
}

// Does a filter, as a client has written it, select or exclude processes by their ids?
bool names_processes(const json& filter) {
  return !member(filter, "pid").empty() || !member(filter, "follow").empty() ||
         (filter.is_object() && names_processes(member(filter, "exclude")));
}

}  // namespace

Result<> check_filter_pids(const json& params, const Peer& peer) {
  auto translated = flag_parameter(params, "kernel_pids");
  if (!translated) return propagate(translated);
  const auto filter = params.find("filter");
  if (*translated || filter == params.end() || !names_processes(*filter)) return {};
  const auto nested = in_nested_pid_namespace(static_cast<uint32_t>(peer.pid));
  // A process that lives and is not seen is hidden (hidepid= of /proc): it counts as one of the
  // host.
  if (!nested && ::kill(peer.pid, 0) != 0 && errno == ESRCH)
    return fail(
        ExitCode::usage,
        "the filter has ids of processes, but the client, process {}, has ended, so its pid "
        "namespace is unknown: wait for the answer",
        peer.pid);
  if (!nested.value_or(false)) return {};
  return fail(ExitCode::usage,
              "process {} is in another pid namespace than the host, so ids in its filter would "
              "select other processes: translate them by 'pids.resolve' and set 'kernel_pids'",
              peer.pid);
}

void finish_command(const TracerParts& tracer, const CommandQueue::Token& token, const Reply& reply,
                    const Result<FinishCommand>& begun) {
  tracer.attacher.when_attached([&tracer, token, reply, begun](const Result<>& attached) {
    if (!begun) return reply(std::unexpected(begun.error()));
    if (!attached) return reply(std::unexpected(attached.error()));
    const auto answer = (*begun)();
    // A command that failed may have undone its changes.
    tracer.attacher.when_attached([token, reply, answer](const Result<>&) { reply(answer); });
  });
}

FinishCommand answer_with(json answer) {
  return [answer = std::move(answer)] { return answer; };
}

void add_command(ControlServer& server, const MethodTargets& t, MethodName name,
                 BeginCommand begin) {
  server.add(
      std::move(name), Role::admin,
      [&tracer = t.tracer, &commands = t.commands, begin = std::move(begin)](
          const json& params, const Peer& peer, const Reply& reply) {
        commands.run([&tracer, begin, params, peer, reply](const CommandQueue::Token& token) {
          finish_command(tracer, token, reply, begin(params, peer));
        });
      });
}

void add_commands(ControlServer& server, const MethodTargets& t) {
  const auto tracer = std::ref(t.tracer);
  server.add({"events.enable", {"names", "session"}}, Role::admin, std::bind_front(enable, t));
  add_command(server, t, {"events.disable", {"names", "session"}},
              std::bind_front(disable, tracer));
  for (bool paused : {true, false})
    add_command(server, t, {paused ? "pause" : "resume", {"session"}},
                std::bind_front(set_paused, tracer, paused));
  server.add("reload", Role::admin, [t](const json&, const Peer&, const Reply& reply) {
    t.reload([reply](const Result<Reloaded>& reloaded) {
      if (!reloaded) return reply(std::unexpected(reloaded.error()));
      reply(json{{"changed", reloaded->changed}, {"at_next_start", reloaded->at_next_start}});
    });
  });
  server.add({"probe.add", {"text", "progress"}}, Role::admin, std::bind_front(add_probes, t));
  add_command(server, t, {"probe.remove", {"names"}}, std::bind_front(remove_probes, tracer));
  add_command(server, t, "probe.clear",
              [tracer](const json&, const Peer&) -> Result<FinishCommand> {
                return answer_with({{"removed", tracer.get().probes.clear()}});
              });
}

}  // namespace ktraced
