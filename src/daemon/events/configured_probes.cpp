// SPDX-License-Identifier: BSD-2-Clause
// The part of ProbeRegistry about the configuration, and about modules that come and go.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "daemon/events/probe_registry.h"

namespace ktraced {
namespace {

// The definitions in these lines, by event. The last one of a name counts.
std::map<std::string, ProbeDefinition> definitions_in(const std::vector<std::string>& lines) {
  std::map<std::string, ProbeDefinition> definitions;
  for (const std::string& line : lines)
    if (auto command = parse_probe_line(line);
        command && std::holds_alternative<ProbeDefinition>(*command)) {
      auto& probe = std::get<ProbeDefinition>(*command);
      definitions.insert_or_assign(event_name(probe), std::move(probe));
    }
  return definitions;
}

}  // namespace

// The lines of the configuration without the probes that users have removed, or whose name another
// probe has.
std::vector<std::string> ProbeRegistry::configured_kept() const {
  std::vector<std::string> kept;
  for (const std::string& line : lines_) {
    const auto command = parse_probe_line(line);
    const auto* probe = command ? std::get_if<ProbeDefinition>(&*command) : nullptr;
    const auto known = probe ? entries_.find(event_name(*probe)) : entries_.end();
    if (known != entries_.end() && known->second.configured) kept.push_back(line);
  }
  return kept;
}

void ProbeRegistry::set_configured(const std::vector<std::string>& lines) {
  define_configured(lines);
  lines_ = lines;
}

void ProbeRegistry::renew_configured() { define_configured(configured_kept()); }

// Drops configured probes that have changed or were not available. Returns the reasons, which were
// reported already.
std::map<std::string, std::string> ProbeRegistry::drop_outdated(
    const std::map<std::string, ProbeDefinition>& configured) {
  std::map<std::string, std::string> reasons;
  std::erase_if(entries_, [&](const auto& entry) {
    const auto stays = configured.find(entry.first);
    const bool same = stays != configured.end() && stays->second == entry.second.definition;
    if (!entry.second.configured || (same && entry.second.reason.empty())) return false;
    availability_.clear_failure(entry.first);
    reasons.emplace(entry.first, entry.second.reason);
    return true;
  });
  return reasons;
}

void ProbeRegistry::define_configured(const std::vector<std::string>& lines) {
  const auto configured = definitions_in(lines);
  auto reasons_before = drop_outdated(configured);
  for (const auto& [name, probe] : configured) {
    if (const auto known = entries_.find(name); known != entries_.end()) {
      if (!known->second.configured)
        spdlog::warn("probes: {} is not set: there is another probe of that name", text_of(probe));
      continue;
    }
    auto defined = define(probe, true);
    if (defined) {
      if (const std::string note = note_on(probe); !note.empty())
        spdlog::warn("probe {}: {}", text_of(probe), note);
      continue;
    }
    if (reasons_before[name] != defined.error().message)
      spdlog::warn("probe {} is not available: {}", text_of(probe), defined.error().message);
    entries_.emplace(
        name,
        Entry{.definition = probe, .id = 0, .reason = defined.error().message, .configured = true});
  }
}

void ProbeRegistry::leave_modules(const KernelChanges& changes) {
  for (const auto& [name, entry] : entries_)
    if (entry.id != 0) leave_module(name, entry.id, changes);
}

// The kernel has disabled the probes on a module that was unloaded. They stay defined, with their
// counts, and are attached again when the module returns.
void ProbeRegistry::leave_module(const std::string& name, uint16_t id,
                                 const KernelChanges& changes) {
  const auto& modules = catalog_.probes().modules(id);
  const auto gone = std::ranges::find_if(modules, [&](const std::string& module) {
    return changes.unknown_modules_gone || changes.modules_gone.contains(module);
  });
  if (gone == modules.end()) return;
  const std::string reason = fmt::format("its module {} has been unloaded", *gone);
  catalog_.dynamic().retire(id);
  if (availability_.note_failure(name, reason)) spdlog::info("probe {}: {}", name, reason);
}

}  // namespace ktraced
