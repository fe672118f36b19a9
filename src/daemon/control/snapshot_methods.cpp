// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/control/methods.h"

#include <spdlog/spdlog.h>

#include <functional>

#include "daemon/access/reader_checks.h"
#include "daemon/control/command_methods.h"
#include "daemon/control/output_json.h"
#include "daemon/control/parameters.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr size_t kReasonMax = 1000;  // bytes
// How long a request waits for a spare bank.
constexpr uint64_t kTimeoutMs = 10'000, kTimeoutMsMax = 3'600'000;

std::string text_of(const Peer& peer) { return fmt::format("pid {} (uid {})", peer.pid, peer.uid); }

struct TakeParameters {
  SnapshotRequest request;
  bool wait = true;                     // until it is on disk
  std::chrono::milliseconds timeout{};  // for a spare bank
};

Result<TakeParameters> take_parameters(const json& params, const Peer& peer) {
  auto name = text_parameter(params, "name");
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
  // A client that does not wait for the disk does not wait for a bank either, unless it says so.
  auto timeout = number_parameter(params, "timeout_ms", *wait ? kTimeoutMs : 0, 0, kTimeoutMsMax);
  if (!timeout) return propagate(timeout);
  return TakeParameters{
      .request = {.name = *name, .reason = *reason, .requested_by = text_of(peer)},
      .wait = *wait,
      .timeout = std::chrono::milliseconds(*timeout)};
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
      const auto& both = written->with_previous;
      (*answer)["previous"] = both ? json(both->previous.filename().string()) : json();
      (*answer)["with_previous"] = both ? pair_json(*both) : json();
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

Result<FinishCommand> turn_flight(const MethodTargets& t, bool enabled, const json&,
                                  const Peer& peer) {
  if (auto done = t.set_flight(enabled); !done) return propagate(done);
  spdlog::info("flight recorder turned {} by {}", enabled ? "on" : "off", text_of(peer));
  return [&rings = t.tracer.rings]() -> Result<json> {
    const FlightRecorder& flight = rings.flight();
    return json{{"enabled", flight.enabled()}, {"bytes", flight.memory()}};
  };
}

void remove(Snapshots& snapshots, const json& params, const Peer&, const Reply& reply) {
  auto name = text_parameter(params, "name");
  if (!name) return reply(propagate(name));
  auto begun = snapshots.remove(*name, [reply, name = *name](const Result<>& deleted) {
    if (!deleted) return reply(std::unexpected(deleted.error()));
    spdlog::info("snapshot {} deleted", name);
    reply(json{{"deleted", name}});
  });
  if (!begun) reply(propagate(begun));
}

void keep(Snapshots& snapshots, const json& params, const Peer& peer, const Reply& reply) {
  auto name = text_parameter(params, "name");
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

void list_snapshots(const MethodTargets& t, const json&, const Peer& peer, const Reply& reply) {
  if (auto all = check_unconfined(t.access, peer, "a snapshot"); !all) return reply(propagate(all));
  t.snapshots.list(
      [reply](const Result<SnapshotListing>& listing) {
        if (!listing) return reply(std::unexpected(listing.error()));
        reply(listing_json(*listing));
      },
      priority_of(peer));
}

}  // namespace

void add_snapshot_methods(ControlServer& server, const MethodTargets& targets) {
  const auto snapshots = std::ref(targets.snapshots);
  server.add({"snapshot.take", {"name", "reason", "wait", "timeout_ms"}}, Role::admin,
             std::bind_front(take, snapshots));
  server.add({"snapshot.delete", {"name"}}, Role::admin, std::bind_front(remove, snapshots));
  server.add({"snapshot.keep", {"name", "kept"}}, Role::admin, std::bind_front(keep, snapshots));
  server.add("snapshot.list", Role::read, std::bind_front(list_snapshots, targets));
  for (bool enabled : {true, false})
    add_command(server, targets, enabled ? "snapshot.enable" : "snapshot.disable",
                std::bind_front(turn_flight, targets, enabled));
}

}  // namespace ktraced
