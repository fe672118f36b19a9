// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/coverage/trace_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text/json_access.h"
#include "schema/names.h"

namespace ktraced {
namespace {

using nlohmann::json;
using Match = std::optional<bool>;

std::set<uint32_t> numbers_at(const json& object, std::string_view key) {
  std::set<uint32_t> numbers;
  for (const json& value : list_at(object, key))
    if (value.is_number_integer()) numbers.insert(value.get<uint32_t>());
  return numbers;
}

std::set<std::string> set_at(const json& object, std::string_view key) {
  const std::vector<std::string> texts = texts_at(object, key);
  return {texts.begin(), texts.end()};
}

// A manifest lists the enabled events; the status of a daemon has an object with all events.
std::optional<std::set<std::string>> enabled_in(const json& config) {
  const json& events = member(config, "events");
  if (events.is_array()) return set_at(config, "events");
  if (!events.is_object()) return std::nullopt;
  std::set<std::string> enabled;
  for (const auto& [name, event] : events.items())
    if (member(event, "enabled") == json(true)) enabled.insert(name);
  return enabled;
}

constexpr std::string_view kIdleComm = "swapper/";

}  // namespace

RecordedFilter::Side RecordedFilter::Side::of(const json& side) {
  return {.pids = numbers_at(side, "pid"),
          .uids = numbers_at(side, "uid"),
          .follow = numbers_at(side, "follow"),
          .comms = texts_at(side, "comm"),
          .cgroups = texts_at(side, "cgroup")};
}

bool RecordedFilter::Side::any() const {
  return !pids.empty() || !uids.empty() || !follow.empty() || !comms.empty() || !cgroups.empty();
}

std::vector<Match> RecordedFilter::Side::matches(uint32_t tid, const TaskName* task,
                                                 Match in_tree) const {
  const bool idle = tid == 0;
  const bool known = idle || task != nullptr;
  const uint32_t process = task != nullptr ? task->tgid : tid;
  auto if_known = [known](bool match) { return known ? Match(match) : std::nullopt; };
  std::vector<Match> matches;
  if (!pids.empty())
    matches.push_back(pids.contains(tid) ? Match(true) : if_known(pids.contains(process)));
  if (!uids.empty()) matches.push_back(if_known(uids.contains(task != nullptr ? task->uid : 0)));
  if (!comms.empty())
    matches.push_back(if_known(std::ranges::any_of(
        comms, [comm = task != nullptr ? task->comm() : kIdleComm](const std::string& pattern) {
          return comm_matches(comm, pattern);
        })));
  // The roots themselves are followed. It is not known which threads are their children.
  if (!follow.empty())
    matches.push_back(known && follow.contains(process) ? Match(true)
                      : idle                            ? Match(false)
                                                        : in_tree);
  if (!cgroups.empty()) matches.emplace_back(std::nullopt);
  return matches;
}

RecordedFilter RecordedFilter::of(const json& filter) {
  RecordedFilter made;
  made.include_ = Side::of(filter);
  made.exclude_ = Side::of(member(filter, "exclude"));
  return made;
}

std::optional<bool> RecordedFilter::matches(uint32_t tid, const TaskName* task) const {
  return matches(include_.matches(tid, task), exclude_.matches(tid, task));
}

std::optional<bool> RecordedFilter::child_matches(uint32_t tid, const TaskName* task) const {
  return matches(include_.matches(tid, task, true), exclude_.matches(tid, task, false));
}

std::optional<bool> RecordedFilter::matches(const std::vector<std::optional<bool>>& included,
                                            const std::vector<std::optional<bool>>& excluded) {
  auto any = [](const std::vector<Match>& matches, Match match) {
    return std::ranges::find(matches, match) != matches.end();
  };
  if (any(included, false) || any(excluded, true)) return false;
  if (any(included, std::nullopt) || any(excluded, std::nullopt)) return std::nullopt;
  return true;
}

TraceConfig TraceConfig::of(const json& config) {
  const json& filter = member(config, "filter");
  TraceConfig parsed{.running = member(config, "state") != json("paused"),
                     .events = enabled_in(config),
                     .syscalls = set_at(config, "syscalls_only"),
                     .filter = RecordedFilter::of(filter)};
  // Old and new filters use different names.
  for (const char* key : {"syscall", "syscalls_only"}) parsed.syscalls.merge(set_at(filter, key));
  return parsed;
}

bool TraceConfig::same_for(const TraceConfig& other,
                           std::span<const std::string_view> names) const {
  return running == other.running && syscalls == other.syscalls && filter == other.filter &&
         std::ranges::all_of(
             names, [&](std::string_view event) { return has(event) == other.has(event); });
}

}  // namespace ktraced
