// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/control/methods.h"

#include <spdlog/spdlog.h>

#include "daemon/access/reader_checks.h"
#include "daemon/control/command_methods.h"
#include "daemon/control/output_json.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr size_t kReasonMax = 1000;  // bytes
// How long a request waits for a spare bank.
constexpr uint64_t kTimeoutMs = 10'000, kTimeoutMsMax = 3'600'000;

// A text parameter; `fallback` if it is missing.
Result<std::string> text_parameter(const json& params, const char* name, std::string fallback) {
  auto value = params.find(name);
  if (value == params.end()) return fallback;
  if (!value->is_string()) return fail(ExitCode::usage, "'{}' must be a string", name);
  return value->get<std::string>();
}

std::string text_of(const Peer& peer) { return fmt::format("pid {} (uid {})", peer.pid, peer.uid); }

// `wait`: also until the snapshot is on disk. A client that does not wait for that does not wait
// for a bank either, unless it says so.
Result<std::chrono::milliseconds> timeout_parameter(const json& params, bool wait) {
  auto value = params.find("timeout_ms");
  if (value == params.end()) return std::chrono::milliseconds(wait ? kTimeoutMs : 0);
  if (!value->is_number_unsigned() || value->get<uint64_t>() > kTimeoutMsMax)
    return fail(ExitCode::usage, "'timeout_ms' must be a whole number from 0 to {}", kTimeoutMsMax);
  return std::chrono::milliseconds(value->get<uint64_t>());
}

struct TakeParameters {
  SnapshotRequest request;
  bool wait = true;                     // until it is on disk
  std::chrono::milliseconds timeout{};  // for a spare bank
};

Result<TakeParameters> take_parameters(const json& params, const Peer& peer) {
  auto name = text_parameter(params, "name", "");
  if (!name) return propagate(name);
  if (params.contains("name"))
    if (auto checked = check_trace_name(*name); !checked) return propagate(checked);
  auto reason = text_parameter(params, "reason", "on request");
  if (!reason) return propagate(reason);
  if (reason->size() > kReasonMax)
    return fail(ExitCode::usage, "'reason' has {} bytes; at most {} are possible", reason->size(),
                kReasonMax);
  auto wait = flag_parameter(params, "wait", true);
  if (!wait) return propagate(wait);
  auto timeout = timeout_parameter(params, *wait);
  if (!timeout) return propagate(timeout);
  return TakeParameters{
      .request = {.name = *name, .reason = *reason, .requested_by = text_of(peer)},
      .wait = *wait,
      .timeout = *timeout};
}

json to_json(const SnapshotTaken& snapshot) {
  return {{"name", snapshot.name}, {"path", snapshot.path.string()}};
}

void take(Snapshots& snapshots, const json& params, const Peer& peer, const Reply& reply) {
  auto parameters = take_parameters(params, peer);
  if (!parameters) return reply(propagate(parameters));
  Snapshots::OnWritten on_written;
  auto answer = std::make_shared<json>();
  if (parameters->wait)
    on_written = [reply, answer](const Result<SnapshotSummary>& written) {
      if (!written) return reply(std::unexpected(written.error()));
      (*answer)["complete"] = written->incomplete_because.empty();
      (*answer)["incomplete_because"] = written->incomplete_because;
      (*answer)["records"] = written->records;
      (*answer)["previous"] = text_or_null(written->previous);
      reply(*answer);
    };
  snapshots.take_or_wait(
      parameters->request, parameters->timeout, [reply] { return reply.connected(); },
      [reply, answer, wait = parameters->wait](const Result<SnapshotTaken>& taken) {
        if (!taken) return reply(std::unexpected(taken.error()));
        *answer = to_json(*taken);
        if (!wait) reply(*answer);
      },
      on_written);
}

Result<FinishCommand> turn_flight(const MethodTargets& t, bool enabled, const Peer& peer) {
  if (auto done = t.set_flight(enabled); !done) return propagate(done);
  spdlog::info("flight recorder turned {} by {}", enabled ? "on" : "off", text_of(peer));
  return [&rings = t.tracer.rings]() -> Result<json> {
    const FlightRecorder& flight = rings.flight();
    return json{{"enabled", flight.enabled()}, {"bytes", flight.memory()}};
  };
}

void remove(Snapshots& snapshots, const json& params, const Reply& reply) {
  auto name = text_parameter(params, "name", "");
  if (!name) return reply(propagate(name));
  auto begun = snapshots.remove(*name, [reply, name = *name](const Result<>& deleted) {
    if (!deleted) return reply(std::unexpected(deleted.error()));
    spdlog::info("snapshot {} deleted", name);
    reply(json{{"deleted", name}});
  });
  if (!begun) reply(propagate(begun));
}

void keep(Snapshots& snapshots, const json& params, const Peer& peer, const Reply& reply) {
  auto name = text_parameter(params, "name", "");
  if (!name) return reply(propagate(name));
  auto kept = flag_parameter(params, "kept", true);
  if (!kept) return reply(propagate(kept));
  snapshots.set_kept(
      *name, *kept, [reply, name = *name, kept = *kept, by = text_of(peer)](const Result<>& done) {
        if (!done) return reply(std::unexpected(done.error()));
        spdlog::info("snapshot {} {}, by {}", name, kept ? "is kept" : "is no longer kept", by);
        reply(json{{"name", name}, {"kept", kept}});
      });
}

}  // namespace

void add_snapshot_methods(ControlServer& server, const MethodTargets& targets) {
  Snapshots& snapshots = targets.snapshots;
  server.add({"snapshot.take", {"name", "reason", "wait", "timeout_ms"}}, Role::admin,
             [&snapshots](const json& params, const Peer& peer, const Reply& reply) {
               take(snapshots, params, peer, reply);
             });
  server.add({"snapshot.delete", {"name"}}, Role::admin,
             [&snapshots](const json& params, const Peer&, const Reply& reply) {
               remove(snapshots, params, reply);
             });
  server.add({"snapshot.keep", {"name", "kept"}}, Role::admin,
             [&snapshots](const json& params, const Peer& peer, const Reply& reply) {
               keep(snapshots, params, peer, reply);
             });
  server.add(
      "snapshot.list", Role::read,
      [&snapshots, &access = targets.access](const json&, const Peer& peer, const Reply& reply) {
        if (auto all = check_unconfined(access, peer, "a snapshot"); !all)
          return reply(propagate(all));
        snapshots.list(
            [reply](const Result<SnapshotListing>& listing) {
              if (!listing) return reply(std::unexpected(listing.error()));
              reply(listing_json(*listing));
            },
            priority_of(peer));
      });
  for (bool enabled : {true, false})
    add_command(server, targets.tracer, targets.commands,
                enabled ? "snapshot.enable" : "snapshot.disable",
                [targets, enabled](const json&, const Peer& peer, const Reply&) {
                  return turn_flight(targets, enabled, peer);
                });
}

}  // namespace ktraced
