// SPDX-License-Identifier: BSD-2-Clause
// Kernel probes: added, listed and removed while the daemon runs.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/text/suggest.h"
#include "daemon/capture/tracer.h"
#include "kernel/probes/probe_grammar.h"

namespace ktraced {
namespace {

using nlohmann::json;

bool is_meant(const ProbeRemoval& removal, const ProbeDefinition& probe) {
  return (removal.group.empty() || removal.group == probe.group) &&
         (removal.event.empty() || removal.event == probe.event);
}

// "GROUP/EVENT", "GROUP:EVENT", "EVENT" or "GROUP/", as a user names a probe.
ProbeRemoval removal_of(const std::string& name) {
  const size_t split = name.find_first_of("/:");
  if (split == std::string::npos) return {.group = "", .event = name};
  return {.group = name.substr(0, split), .event = name.substr(split + 1)};
}

// The option of a definition that has no effect, and why; empty if there is none.
std::string note_on(const ProbeDefinition& probe) {
  if (probe.maxactive == 0) return {};
  return fmt::format(
      "maxactive {} has no effect: the kernel chooses how many returns it waits for, and BPF "
      "programs cannot set it",
      probe.maxactive);
}

}  // namespace

// Defines a probe that is known to be possible. It is not attached yet.
Result<> Tracer::define_probe(const ProbeDefinition& probe, bool configured) {
  const std::string name = event_name(probe);
  if (probe_list_.contains(name))
    return fail(ExitCode::usage,
                "there is a probe {}/{} already: remove it first, or give this one another name "
                "(p:NAME …)",
                probe.group, probe.event);
  if (const Event* other = schema_.find(name); other != nullptr && !is_dynamic(*other))
    return fail(ExitCode::usage, "there is an event {} already", name);
  auto event = probes_.event_of(probe);
  if (!event) return propagate(event);
  auto defined = dynamic_.define(probes_, std::move(*event), text_of(probe));
  if (!defined) return propagate(defined);
  const uint16_t id = (*defined)->event.id;
  // Its module may have been reloaded while no daemon was running. The kernel has then disabled the
  // probe without a notification.
  if (dynamic_.adopted(id) && !probes_.modules(id).empty() && !probes_.keeps_modules(probe))
    dynamic_.retire(id);
  take_definitions({*defined});
  probe_list_.emplace(
      name, ProbeEntry{.definition = probe, .id = id, .reason = {}, .configured = configured});
  enabled_.insert(name);
  return {};
}

std::string Tracer::unknown_probe(const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& [event, entry] : probe_list_) {
    names.push_back(fmt::format("{}/{}", entry.definition.group, entry.definition.event));
    names.push_back(entry.definition.event);
  }
  return unknown_name("probe", name, names, "'ktracectl probe list' lists all");
}

std::vector<std::string> Tracer::drop_probes(const ProbeRemoval& removal) {
  std::vector<std::string> removed;
  std::erase_if(probe_list_, [&](const auto& entry) {
    if (!is_meant(removal, entry.second.definition)) return false;
    removed.push_back(text_of(entry.second.definition));
    enabled_.erase(entry.first);
    attach_failures_.erase(entry.first);
    return true;
  });
  return removed;
}

// Tests now whether a probe can be attached, even if there is no reader that needs it yet.
void Tracer::try_probe(const std::string& name) {
  const auto entry = probe_list_.find(name);
  if (entry == probe_list_.end() || dynamic_.attached(entry->second.id)) return;
  note_attach(name, dynamic_.attach(entry->second.id));
  dynamic_.detach(entry->second.id);
}

Result<std::shared_ptr<Tracer::ProbeChange>> Tracer::add_probes(
    const std::vector<ProbeCommand>& commands, Probes::Progress progress) {
  probes_.set_progress(std::move(progress));
  auto added = add_probes(commands);
  if (!added) probes_.set_progress({});
  return added;
}

// All or none: if one probe cannot be added, those added before it are removed again.
void Tracer::undo(const ProbeChange& change) {
  probe_list_ = change.list_before;
  enabled_ = change.enabled_before;
  attach_failures_ = change.failures_before;
  to_try_.clear();
  reconcile();
}

Result<std::shared_ptr<Tracer::ProbeChange>> Tracer::add_probes(
    const std::vector<ProbeCommand>& commands) {
  auto change = std::make_shared<ProbeChange>(probe_list_, enabled_, attach_failures_);
  auto give_up = [&](Error error) {
    undo(*change);
    return std::unexpected(std::move(error));
  };
  for (const ProbeCommand& command : commands) {
    if (const auto* removal = std::get_if<ProbeRemoval>(&command)) {
      const auto gone = drop_probes(*removal);
      if (gone.empty())
        return give_up(
            {ExitCode::usage, unknown_probe(fmt::format("{}/{}", removal->group, removal->event))});
      for (const std::string& definition : gone) change->removed.push_back(definition);
      continue;
    }
    const auto& probe = std::get<ProbeDefinition>(command);
    if (auto defined = define_probe(probe, false); !defined)
      return give_up({defined.error().code,
                      commands.size() == 1
                          ? defined.error().message
                          : fmt::format("{}: {}", text_of(probe), defined.error().message)});
    change->added.push_back(event_name(probe));
  }
  to_try_.insert(change->added.begin(), change->added.end());
  reconcile();
  return change;
}

Result<json> Tracer::check_added(const ProbeChange& change) {
  probes_.set_progress({});
  for (const std::string& name : change.added)
    if (const auto failure = attach_failures_.find(name); failure != attach_failures_.end()) {
      Error error{ExitCode::unavailable, failure->second};
      undo(change);
      return std::unexpected(std::move(error));
    }
  json entries = json::array();
  for (const std::string& name : change.added)
    if (const auto entry = probe_list_.find(name); entry != probe_list_.end())
      entries.push_back(probe_status(entry->second));
  return json{{"added", std::move(entries)}, {"removed", change.removed}};
}

Result<json> Tracer::remove_probes(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (std::ranges::none_of(probe_list_, [&](const auto& entry) {
          return is_meant(removal_of(name), entry.second.definition);
        }))
      return fail(ExitCode::usage, "{}", unknown_probe(name));
  json removed = json::array();
  for (const std::string& name : names)
    for (std::string& definition : drop_probes(removal_of(name)))
      removed.push_back(std::move(definition));
  reconcile();
  return json{{"removed", std::move(removed)}};
}

json Tracer::clear_probes() {
  json removed = drop_probes({});
  reconcile();
  return json{{"removed", std::move(removed)}};
}

// The lines of the configuration without the probes that users have removed, or whose name another
// probe has.
std::vector<std::string> Tracer::configured_probes_kept() const {
  std::vector<std::string> kept;
  for (const std::string& line : config_.probes) {
    const auto command = parse_probe_line(line);
    const auto* probe = command ? std::get_if<ProbeDefinition>(&*command) : nullptr;
    const auto known = probe ? probe_list_.find(event_name(*probe)) : probe_list_.end();
    if (known != probe_list_.end() && known->second.configured) kept.push_back(line);
  }
  return kept;
}

// Probes of the configuration that are already defined stay as they are, with their counts.
void Tracer::set_configured_probes(const std::vector<std::string>& lines) {
  std::map<std::string, ProbeDefinition> configured;
  for (const std::string& line : lines)
    if (auto command = parse_probe_line(line);
        command && std::holds_alternative<ProbeDefinition>(*command)) {
      auto& probe = std::get<ProbeDefinition>(*command);
      configured.insert_or_assign(event_name(probe), std::move(probe));
    }
  std::map<std::string, std::string> reasons_before;  // already reported
  std::erase_if(probe_list_, [&](const auto& entry) {
    const auto stays = configured.find(entry.first);
    const bool same = stays != configured.end() && stays->second == entry.second.definition;
    if (!entry.second.configured || (same && entry.second.reason.empty())) return false;
    attach_failures_.erase(entry.first);
    reasons_before.emplace(entry.first, entry.second.reason);
    return true;
  });
  for (const auto& [name, probe] : configured) {
    if (const auto known = probe_list_.find(name); known != probe_list_.end()) {
      if (!known->second.configured)
        spdlog::warn("probes: {} is not set: there is another probe of that name", text_of(probe));
      continue;
    }
    auto defined = define_probe(probe, true);
    if (const std::string note = note_on(probe); defined && !note.empty())
      spdlog::warn("probe {}: {}", text_of(probe), note);
    if (defined) continue;
    if (reasons_before[name] != defined.error().message)
      spdlog::warn("probe {} is not available: {}", text_of(probe), defined.error().message);
    probe_list_.emplace(
        name,
        ProbeEntry{
            .definition = probe, .id = 0, .reason = defined.error().message, .configured = true});
  }
}

json Tracer::probe_status(const ProbeEntry& probe) const {
  const ProbeDefinition& definition = probe.definition;
  json out = {{"definition", text_of(definition)},
              {"event", event_name(definition)},
              {"configured", probe.configured}};
  if (const std::string note = note_on(definition); !note.empty()) out["note"] = note;
  const Event* event = probe.id == 0 ? nullptr : schema_.find(probe.id);
  const auto failure = attach_failures_.find(event_name(definition));
  const std::string reason = failure == attach_failures_.end() ? probe.reason : failure->second;
  out["available"] = reason.empty() && event != nullptr;
  if (!reason.empty()) out["reason"] = reason;
  if (event == nullptr) return out;
  const json status = event_status(*event, 0);
  out["id"] = event->id;
  out["enabled"] = status["enabled"];
  out["attached"] = status["attached"];
  out["hits"] = status["recorded"].get<uint64_t>() + status["filtered"].get<uint64_t>() +
                status["dropped"].get<uint64_t>();
  out["missed"] = status["missed"];
  out["misses_known"] = probes_.misses_known();
  if (const auto skipped = probes_.skipped(probe.id); !skipped.empty()) out["skipped"] = skipped;
  return out;
}

json Tracer::probes() const {
  json list = json::array();
  for (const auto& [name, entry] : probe_list_) list.push_back(probe_status(entry));
  json out = {{"probes", std::move(list)}};
  if (const std::string reason = Probes::unavailable(); !reason.empty()) out["reason"] = reason;
  return out;
}

}  // namespace ktraced
