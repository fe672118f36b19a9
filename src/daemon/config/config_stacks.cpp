// SPDX-License-Identifier: BSD-2-Clause
// The sections "stacks" and "sampling" of the configuration.
#include <algorithm>

#include "bpf/shared_state.h"
#include "daemon/config/config_keys.h"
#include "kernel/stacks/stack_programs.h"

namespace ktraced {
namespace {

using nlohmann::ordered_json;

constexpr NumberRule kDepth{.min = 1, .max = STACK_DEPTH_MAX};
constexpr NumberRule kEvery{.min = 1, .max = STACK_EVERY_MAX};

std::string period_problem(std::string_view text) {
  const auto period = parse_sample_period(text);
  return period ? "" : period.error().message;
}

constexpr TextRule kPeriodText{.pattern =
                                   "^([1-9][0-9]{2,6}us|10000000us|[1-9][0-9]{0,3}ms|10000ms|"
                                   "[1-9]s|10s|[1-9][0-9]{5,9} cycles)$",
                               .not_pattern = {},
                               .max_bytes = SIZE_MAX,
                               .problem_of = period_problem};

void read_events(const std::vector<ConfigNode>& elements, std::vector<std::string>& events) {
  events.clear();
  for (const ConfigNode& element : elements) {
    const auto name = element.text();
    if (!name) continue;
    if (const auto reason = StackPrograms::why_not(*name))
      element.problem("{}", *reason);
    else if (std::ranges::find(events, *name) == events.end())
      events.push_back(*name);
  }
}

void read_every(const ConfigNode& node, std::map<std::string, uint32_t>& every) {
  every.clear();
  if (!node.value().is_object()) return node.wrong_type("an object of events and numbers");
  for (const auto& [name, number] : node.value().items()) {
    const auto member = node.member(name);
    if (const auto reason = StackPrograms::why_not(name))
      member->problem("{}", *reason);
    else if (const auto value = member->number(kEvery))
      every[name] = *value;
  }
}

}  // namespace

void describe_sampling(ConfigSection& sampling, SamplingConfig& config) {
  std::string period = text_of(config.period);
  sampling.text({"period",
                 "How often each CPU is sampled: by a time of its clock, from 100us to 10s, or by "
                 "a number of cycles in "
                 "which it runs, from 100000 cycles, where the machine counts them."},
                kPeriodText, period);
  if (const auto parsed = parse_sample_period(period)) config.period = *parsed;
  sampling.flag({"kernel", "Stacks of the kernel."}, config.kernel);
  sampling.flag({"user", "Stacks of processes, as far as their code has frame pointers."},
                config.user);
}

void describe_stacks(ConfigSection& stacks, StacksConfig& config) {
  const std::vector<std::string> names = StackPrograms::supported();
  stacks.list({"events", "Events with stacks, of those that are recorded."},
              {.max_size = STACK_EVENTS, .element = {{"enum", names}}},
              [&](const std::vector<ConfigNode>& list) { read_events(list, config.events); });
  stacks.flag({"kernel", "Stacks of the kernel."}, config.kernel);
  stacks.flag({"user", "Stacks of processes, as far as their code has frame pointers."},
              config.user);
  stacks.number({"depth", "Frames of each stack, at most."}, kDepth, config.depth);
  const ordered_json every = {{"type", "object"},
                              {"propertyNames", {{"enum", names}}},
                              {"additionalProperties", number_schema(kEvery)}};
  stacks.value({"every",
                "By event: one of so many hits of each CPU has stacks, the others have none. "
                "Without it, all have."},
               every, [&](const ConfigNode& node) { read_every(node, config.every); });
}

void check_stacks(const ConfigNode& root, const EventGroups& groups, const Config& config) {
  const auto stacks = root.member("stacks");
  const auto events =
      stacks && stacks->value().is_object() ? stacks->member("events") : std::nullopt;
  if (!events || !events->value().is_array()) return;
  const std::vector<ConfigNode> elements = events->list(SIZE_MAX);
  for (const ConfigNode& element : elements) {
    if (!element.value().is_string()) continue;
    const auto& name = element.value().get_ref<const std::string&>();
    const auto group = std::ranges::find_if(groups, [&](const auto& each) {
      return std::ranges::find(each.second, name) != each.second.end();
    });
    const bool can_have =
        std::ranges::find(config.stacks.events, name) != config.stacks.events.end();
    const bool recorded = std::ranges::find(config.events.names, name) != config.events.names.end();
    if (can_have && !recorded && group != groups.end())
      element.problem("'{}' is not recorded: select it in events.{}", name, group->first);
  }
}

}  // namespace ktraced
