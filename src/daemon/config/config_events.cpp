// SPDX-License-Identifier: BSD-2-Clause
// What is recorded: a section "events" of the configuration, and "probes".
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_set>

#include "base/text/suggest.h"
#include "bpf/shared_state.h"
#include "daemon/config/config_json.h"
#include "daemon/config/config_keys.h"
#include "daemon/config/filter_json.h"
#include "kernel/probes/probe_grammar.h"

namespace ktraced {
namespace {

using nlohmann::ordered_json;

struct GroupRule {
  std::string_view name;
  std::string_view doc;
  bool is_default = false;  // enabled without a section "events": cheap enough for any machine
};
constexpr std::array<GroupRule, 7> kGroups = {{
    {"sched", "Switches, wake-ups and migrations of threads.", true},
    {"process", "Fork, exec, exit and rename.", true},
    {"signal", "Signals sent and delivered.", true},
    {"oom", "Victims of the out-of-memory killer.", true},
    {"kmem", "Slab and page allocations and frees."},
    {"sampling", "Samples of what each CPU does; see the section \"sampling\"."},
    {"syscalls",
     "System calls: all, sys_enter or sys_exit alone, or both of some calls by name; with their "
     "strings, or without; as both, or as one record when they return (completed)."},
}};
// Groups that are a part of "syscalls" in the configuration.
constexpr std::string_view kStrings = "strings", kCompleted = "completed";
constexpr std::string_view kRecord = "record";

template <class T>
bool contains(const T& values, std::string_view value) {
  return std::ranges::find(values, value) != values.end();
}

// {"only": ["openat", …], "strings": true, "record": "completed"}; any of them may be missing.
// Returns the groups of events that are recorded.
std::vector<std::string_view> read_syscalls_object(const ConfigNode& node, EventsConfig& config) {
  node.check_keys({"only", kStrings, kRecord});
  const auto only = node.member("only"), strings = node.member(kStrings);
  const auto record = node.member(kRecord);
  if (!only && !strings && !record)
    node.problem(
        "must have \"only\", a list of system calls, \"strings\", true or false, or \"record\", "
        "\"both\" or \"completed\"");
  if (only && only->value().is_array() && only->value().empty())
    only->problem("must name at least one system call; without it all of them are recorded");
  else if (only)
    read_syscalls(*only, config.syscalls_only);
  const bool completed = record && record->choice({"both", kCompleted}) == kCompleted;
  std::vector<std::string_view> groups{completed ? kCompleted : std::string_view("syscalls")};
  if (strings && strings->boolean().value_or(false)) groups.push_back(kStrings);
  return groups;
}

std::string_view group_of(std::string_view event, const EventGroups& groups) {
  for (const auto& [group, events] : groups)
    if (contains(events, event)) return group;
  return {};
}

// The events of one group that a list names, in the group's order.
std::vector<std::string> read_event_list(const ConfigNode& node, const std::string& group,
                                         const EventGroups& groups) {
  const auto& events = groups.find(group)->second;
  std::unordered_set<std::string> named;
  for (const ConfigNode& element : node.list(EVENT_ID_MAX)) {
    auto name = element.text();
    if (!name) continue;
    if (contains(events, *name))
      named.insert(*name);
    else if (auto other = group_of(*name, groups); !other.empty())
      element.problem("'{}' is an event of the group '{}', not of '{}'", *name, other, group);
    else
      element.problem("{}", unknown_name("event", *name, events,
                                         fmt::format("there are {}", fmt::join(events, ", "))));
  }
  std::vector<std::string> selected;
  std::ranges::copy_if(events, std::back_inserter(selected),
                       [&](const std::string& event) { return named.contains(event); });
  return selected;
}

void read_group(const ConfigNode& node, const std::string& group, const EventGroups& groups,
                EventsConfig& config) {
  bool syscalls = group == "syscalls";
  std::vector<std::string> selected;
  if (node.value().is_boolean()) {
    if (node.value().get<bool>()) selected = groups.find(group)->second;
  } else if (node.value().is_array()) {
    selected = read_event_list(node, group, groups);
  } else if (syscalls && node.value().is_object()) {
    for (const std::string_view part : read_syscalls_object(node, config))
      if (const auto found = groups.find(part); found != groups.end())
        selected.insert(selected.end(), found->second.begin(), found->second.end());
  } else {
    node.wrong_type(syscalls ? "true, false, a list of events, or an object with \"only\", "
                               "\"strings\" or \"record\""
                             : "true, false, or a list of events");
  }
  config.names.insert(config.names.end(), selected.begin(), selected.end());
}

// "irq", a group, is all its tracepoints. Nothing for what is neither that nor SYSTEM:NAME.
std::optional<std::string> tracepoint_pattern(const std::string& name) {
  const size_t colon = name.find(':');
  if (name.empty() || colon == 0 || colon + 1 == name.size()) return std::nullopt;
  if (colon != std::string::npos) return name;
  if (name.find_first_of("*?[") != std::string::npos) return std::nullopt;
  return name + ":*";
}

// ["irq:irq_handler_entry", "block:*", "net"]; whether they exist is known to the running kernel
// alone.
void read_tracepoints(const std::vector<ConfigNode>& elements, EventsConfig& config) {
  for (const ConfigNode& element : elements) {
    auto name = element.text();
    if (!name) continue;
    if (auto pattern = tracepoint_pattern(*name))
      config.tracepoints.push_back(std::move(*pattern));
    else
      element.problem(
          "must be GROUP:NAME, in which * stands for any characters, or GROUP for all of one, "
          "not {}",
          in_quotes(*name));
  }
}

// Checks only the grammar. Only the running kernel knows whether the function exists.
void read_probes(const std::vector<ConfigNode>& elements, Config& config) {
  std::map<std::string, size_t> places;
  for (const ConfigNode& element : elements) {
    auto line = element.text();
    if (!line) continue;
    auto command = parse_probe_line(*line);
    if (!command) {
      element.problem("column {}: {}", command.error().column, command.error().message);
      continue;
    }
    const auto* probe = std::get_if<ProbeDefinition>(&*command);
    if (probe == nullptr)
      element.problem("must be a probe to be set (p or r), not one to be removed");
    else if (!places.emplace(probe->group + "/" + probe->event, places.size()).second)
      element.problem("must have a name of its own: there is a probe {}/{} before it", probe->group,
                      probe->event);
    else
      config.probes.push_back(std::move(*line));
  }
}

GroupRule rule_of(std::string_view group) {
  const auto* rule = std::ranges::find(kGroups, group, &GroupRule::name);
  return rule == kGroups.end() ? GroupRule{.name = group, .doc = ""} : *rule;
}

// true, false or "auto".
Exact read_exact(const ConfigNode& node) {
  if (node.value() == "auto") return Exact::when_needed;
  if (node.value().is_boolean()) return node.value().get<bool>() ? Exact::always : Exact::never;
  node.wrong_type("true, false or \"auto\"");
  return Exact::when_needed;
}

ordered_json group_schema(std::string_view group, const std::vector<std::string>& events) {
  ordered_json forms = {{{"type", "boolean"}},
                        {{"type", "array"},
                         {"maxItems", static_cast<int>(EVENT_ID_MAX)},
                         {"items", {{"enum", events}}}}};
  if (group == "syscalls")
    forms.push_back({{"type", "object"},
                     {"additionalProperties", false},
                     {"minProperties", 1},
                     {"properties",
                      {{"only",
                        {{"type", "array"},
                         {"minItems", 1},
                         {"maxItems", kSyscallsMax},
                         {"items", text_schema({.pattern = "^[a-z0-9_]+$"})}}},
                       {"strings", {{"type", "boolean"}}},
                       {"record", {{"enum", {"both", "completed"}}, {"default", "both"}}}}}});
  return {{"oneOf", std::move(forms)}};
}

}  // namespace

bool is_part_of_syscalls(std::string_view group) {
  return group == kStrings || group == kCompleted;
}

std::vector<std::string> default_events(const EventGroups& groups) {
  std::vector<std::string> names;
  for (const auto& [group, events] : groups)
    if (rule_of(group).is_default) names.insert(names.end(), events.begin(), events.end());
  return names;
}

void describe_events(ConfigSection& events, const EventGroups& groups, EventsConfig& config) {
  config = {};
  for (const auto& [group, members] : groups)
    if (!is_part_of_syscalls(group))
      events.value({group, rule_of(group).doc}, group_schema(group, members),
                   [&](const ConfigNode& node) { read_group(node, group, groups, config); });
  events.list(
      {"tracepoints",
       "Any tracepoints of the running kernel, as GROUP:NAME, in which * stands for "
       "any characters, or GROUP for all of one."},
      {.max_size = EVENT_ID_MAX, .element = text_schema({.pattern = "^[^:*?\\[]+$|^[^:]+:.+$"})},
      [&](const std::vector<ConfigNode>& list) { read_tracepoints(list, config); });
}

void describe_exact(ConfigSection& exact, ExactConfig& config) {
  const ordered_json schema = {{"enum", {"auto", true, false}}, {"default", "auto"}};
  exact.value({"kmem", "Slab and page allocations and frees. auto: true."}, schema,
              [&](const ConfigNode& node) { config.kmem = read_exact(node); });
  exact.value({"syscalls",
               "sys_enter and sys_exit, with their strings. auto: true if the kernel may preempt "
               "programs."},
              schema, [&](const ConfigNode& node) { config.syscalls = read_exact(node); });
}

void describe_probes(ConfigSection& root, Config& config) {
  root.list({"probes",
             "Kernel probes, a definition each, in the grammar of the kernel's kprobe_events file: "
             "'p:open do_sys_openat2 path=+0($arg2):ustring'."},
            {.max_size = EVENT_ID_MAX - DYNAMIC_ID_FIRST,
             .element = {{"type", "string"},
                         {"minLength", 3},
                         {"maxLength", 4096},
                         {"pattern", "^\\s*[pr]"}}},
            [&](const std::vector<ConfigNode>& list) { read_probes(list, config); });
}

}  // namespace ktraced
