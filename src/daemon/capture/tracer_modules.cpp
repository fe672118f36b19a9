// SPDX-License-Identifier: BSD-2-Clause
// Handles kernel modules that are loaded and unloaded, and their probes and tracepoints.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>

#include "base/text/name_list.h"
#include "daemon/capture/tracer.h"

namespace ktraced {

void Tracer::note_modules(const KernelChanges& changes) {
  tracepoints_.drop_formats();
  for (const auto& [name, probe] : probe_list_)
    if (probe.id != 0) leave_module(name, probe.id, changes);
  note_tracepoints();
  if (changes.modules_came) set_configured_probes(configured_probes_kept());
  reconcile();
}

void Tracer::check_modules() {
  // Also tries probes that are not needed now, to report whether they can be attached.
  for (const auto& [name, probe] : probe_list_)
    if (probe.id != 0 && enabled_.contains(name) && attach_failures_.contains(name))
      try_probe(name);
}

// The kernel has disabled the probes on a module that was unloaded. They stay defined, with their
// counts, and are attached again when the module returns.
void Tracer::leave_module(const std::string& name, uint16_t id, const KernelChanges& changes) {
  const auto& modules = probes_.modules(id);
  const auto gone = std::ranges::find_if(modules, [&](const std::string& module) {
    return changes.unknown_modules_gone || changes.modules_gone.contains(module);
  });
  if (gone == modules.end()) return;
  const std::string reason = fmt::format("its module {} has been unloaded", *gone);
  dynamic_.retire(id);
  if (attach_failures_.emplace(name, reason).second) spdlog::info("probe {}: {}", name, reason);
}

// Enables new tracepoints that the configuration contains and disables those that are gone. What
// users have enabled or disabled stays so otherwise.
void Tracer::note_tracepoints() {
  const std::set<std::string> now = tracepoints_to_note();
  if (now.empty()) return;
  std::vector<std::string> gone;
  for (const std::string& name : enabled_)
    if (const DynamicEvent* event = dynamic_.find(name);
        event != nullptr && event->kind == &tracepoints_ && !now.contains(name))
      gone.push_back(name);
  for (const std::string& name : gone) {
    enabled_.erase(name);
    attach_failures_.erase(name);
  }
  const auto before = std::exchange(configured_tracepoints_, configured_among(now));
  ChosenEvents chosen;
  for (const std::string& name : configured_tracepoints_)
    if (!before.contains(name))
      if (auto defined = define_tracepoints(name, chosen); !defined)
        spdlog::warn("tracepoint {} is not recorded: {}", name, defined.error().message);
  enabled_.insert(chosen.events.begin(), chosen.events.end());
  if (!gone.empty()) spdlog::info("removed with a module: {}", names_or_count(gone, "tracepoints"));
  if (!chosen.events.empty())
    spdlog::info("added by a module and recorded: {}",
                 names_or_count(chosen.events, "tracepoints"));
}

// All existing tracepoints, if any of them is needed. Reading them takes a while.
std::set<std::string> Tracer::tracepoints_to_note() const {
  const bool enabled = std::ranges::any_of(enabled_, [&](const std::string& name) {
    const DynamicEvent* event = dynamic_.find(name);
    return event != nullptr && event->kind == &tracepoints_;
  });
  if (!enabled && config_.tracepoints.empty()) return {};
  auto all = Tracepoints::all();
  if (!all) return {};
  return {all->begin(), all->end()};
}

std::set<std::string> Tracer::configured_among(const std::set<std::string>& names) const {
  std::set<std::string> matching;
  std::ranges::copy_if(
      names, std::inserter(matching, matching.end()), [&](const std::string& name) {
        return std::ranges::any_of(config_.tracepoints, [&](const std::string& pattern) {
          return matches_pattern(name, pattern);
        });
      });
  return matching;
}

}  // namespace ktraced
