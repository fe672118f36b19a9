// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/events/probe_registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/suggest.h"

namespace ktraced {
namespace {

bool matches(const ProbeRemoval& removal, const ProbeDefinition& probe) {
  return (removal.group.empty() || removal.group == probe.group) &&
         (removal.event.empty() || removal.event == probe.event);
}

// "GROUP/EVENT", "GROUP:EVENT", "EVENT" or "GROUP/", as a user names a probe.
ProbeRemoval removal_of(const std::string& name) {
  const size_t split = name.find_first_of("/:");
  if (split == std::string::npos) return {.group = "", .event = name};
  return {.group = name.substr(0, split), .event = name.substr(split + 1)};
}

}  // namespace

std::string ProbeRegistry::note_on(const ProbeDefinition& probe) {
  if (probe.maxactive == 0) return {};
  return fmt::format(
      "maxactive {} has no effect: the kernel chooses how many returns it waits for, and BPF "
      "programs cannot set it",
      probe.maxactive);
}

// Defines a probe that is known to be possible. It is not attached yet.
Result<> ProbeRegistry::define(const ProbeDefinition& probe, bool configured) {
  const std::string name = event_name(probe);
  if (entries_.contains(name))
    return fail(ExitCode::usage,
                "there is a probe {}/{} already: remove it first, or give this one another name "
                "(p:NAME …)",
                probe.group, probe.event);
  if (const Event* other = catalog_.schema().find(name); other != nullptr && !is_dynamic(*other))
    return fail(ExitCode::usage, "there is an event {} already", name);
  Probes& probes = catalog_.probes();
  DynamicEvents& dynamic = catalog_.dynamic();
  auto event = probes.event_of(probe);
  if (!event) return propagate(event);
  auto defined = dynamic.define(probes, std::move(*event), text_of(probe));
  if (!defined) return propagate(defined);
  const uint16_t id = (*defined)->event.id;
  // The module of the probe may have been reloaded while no daemon was running. The kernel has then
  // disabled the probe without a notification.
  if (dynamic.adopted(id) && !probes.modules(id).empty() && !probes.keeps_modules(probe))
    dynamic.retire(id);
  catalog_.add_defined({*defined});
  entries_.emplace(name,
                   Entry{.definition = probe, .id = id, .reason = {}, .configured = configured});
  enabled_.insert(name);
  return {};
}

std::string ProbeRegistry::unknown(const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& [event, entry] : entries_) {
    names.push_back(fmt::format("{}/{}", entry.definition.group, entry.definition.event));
    names.push_back(entry.definition.event);
  }
  return unknown_name("probe", name, names, "'ktracectl probe list' lists all");
}

std::vector<std::string> ProbeRegistry::drop(const ProbeRemoval& removal) {
  std::vector<std::string> removed;
  std::erase_if(entries_, [&](const auto& entry) {
    if (!matches(removal, entry.second.definition)) return false;
    removed.push_back(text_of(entry.second.definition));
    enabled_.erase(entry.first);
    availability_.clear_failure(entry.first);
    return true;
  });
  return removed;
}

Result<std::shared_ptr<ProbeRegistry::Change>> ProbeRegistry::add(
    const std::vector<ProbeCommand>& commands, Probes::Progress progress) {
  catalog_.probes().set_progress(std::move(progress));
  auto added = add(commands);
  if (!added) catalog_.probes().set_progress({});
  return added;
}

// All or none: if one probe cannot be added, those added before it are removed again.
void ProbeRegistry::undo(const Change& change) {
  entries_ = change.probes_before;
  enabled_ = change.enabled_before;
  availability_.restore_failures(change.failures_before);
  attacher_.drop_tries();
  applier_.reconcile();
}

Result<std::shared_ptr<ProbeRegistry::Change>> ProbeRegistry::add(
    const std::vector<ProbeCommand>& commands) {
  auto change = std::make_shared<Change>(Change{.probes_before = entries_,
                                                .enabled_before = enabled_,
                                                .failures_before = availability_.failures(),
                                                .added = {},
                                                .removed = {}});
  auto give_up = [&](Error error) {
    undo(*change);
    return std::unexpected(std::move(error));
  };
  for (const ProbeCommand& command : commands) {
    if (const auto* removal = std::get_if<ProbeRemoval>(&command)) {
      const auto gone = drop(*removal);
      if (gone.empty())
        return give_up(
            {ExitCode::usage, unknown(fmt::format("{}/{}", removal->group, removal->event))});
      change->removed.insert(change->removed.end(), gone.begin(), gone.end());
      continue;
    }
    const auto& probe = std::get<ProbeDefinition>(command);
    if (auto defined = define(probe, false); !defined)
      return give_up({defined.error().code,
                      commands.size() == 1
                          ? defined.error().message
                          : fmt::format("{}: {}", text_of(probe), defined.error().message)});
    change->added.push_back(event_name(probe));
  }
  attacher_.try_later(change->added);
  applier_.reconcile();
  return change;
}

Result<std::vector<ProbeInfo>> ProbeRegistry::check_added(const Change& change) {
  catalog_.probes().set_progress({});
  for (const std::string& name : change.added)
    if (const std::string* failure = availability_.failure(name); failure != nullptr) {
      Error error{ExitCode::unavailable, *failure};
      undo(change);
      return std::unexpected(std::move(error));
    }
  std::vector<ProbeInfo> added;
  for (const std::string& name : change.added)
    if (const auto entry = entries_.find(name); entry != entries_.end())
      added.push_back(info(entry->second));
  return added;
}

Result<std::vector<std::string>> ProbeRegistry::remove(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (std::ranges::none_of(entries_, [&](const auto& entry) {
          return matches(removal_of(name), entry.second.definition);
        }))
      return fail(ExitCode::usage, "{}", unknown(name));
  std::vector<std::string> removed;
  for (const std::string& name : names) {
    const auto definitions = drop(removal_of(name));
    removed.insert(removed.end(), definitions.begin(), definitions.end());
  }
  applier_.reconcile();
  return removed;
}

std::vector<std::string> ProbeRegistry::clear() {
  auto removed = drop({});
  applier_.reconcile();
  return removed;
}

void ProbeRegistry::try_attach(const std::string& event) {
  DynamicEvents& dynamic = catalog_.dynamic();
  const auto entry = entries_.find(event);
  if (entry == entries_.end() || dynamic.attached(entry->second.id)) return;
  attacher_.note(event, dynamic.attach(entry->second.id));
  dynamic.detach(entry->second.id);
}

void ProbeRegistry::retry_failed() {
  for (const auto& [name, entry] : entries_)
    if (entry.id != 0 && enabled_.contains(name) && availability_.failure(name) != nullptr)
      try_attach(name);
}

ProbeInfo ProbeRegistry::info(const Entry& entry) const {
  const std::string* failure = availability_.failure(event_name(entry.definition));
  const Probes& probes = catalog_.probes();
  return {.definition = text_of(entry.definition),
          .event = event_name(entry.definition),
          .id = entry.id,
          .reason = failure != nullptr ? *failure : entry.reason,
          .note = note_on(entry.definition),
          .configured = entry.configured,
          .misses_known = probes.misses_known(),
          .skipped = probes.skipped(entry.id)};
}

std::vector<ProbeInfo> ProbeRegistry::list() const {
  std::vector<ProbeInfo> list;
  list.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) list.push_back(info(entry));
  return list;
}

}  // namespace ktraced
