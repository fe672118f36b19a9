// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/config/filter_json.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/text/suggest.h"
#include "base/user_id.h"
#include "bpf/shared_state.h"
#include "daemon/config/config_keys.h"
#include "daemon/config/config_reader.h"
#include "daemon/config/config_text.h"
#include "schema/names.h"

namespace ktraced {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr NumberRule kPid{.min = 1, .max = 4U << 20};  // PID_MAX_LIMIT of the kernel

// Describes a list of which `read` reads one element. Keeps the values in order, each once.
template <class T, class Read>
void describe_list(ConfigSection& side, const ConfigKey& key, const ListRule& rule,
                   std::vector<T>& out, Read&& read) {
  side.list(key, rule, [&](const std::vector<ConfigNode>& elements) {
    out.clear();
    std::set<T> seen;
    for (const ConfigNode& element : elements) {
      auto value = read(element);
      if (value && seen.insert(*value).second) out.push_back(std::move(*value));
    }
  });
}

// A number, or the name of a user: names are looked up once, when they are read.
std::optional<uint32_t> read_user(const ConfigNode& node, bool& unknown) {
  if (node.value().is_number()) return node.number(kUid);
  if (!node.value().is_string()) {
    node.wrong_type("a uid or the name of a user");
    return std::nullopt;
  }
  const auto name = node.text();
  // Name services may take long: after the first unknown name they are not asked again.
  if (!name || unknown) return std::nullopt;
  const auto uid = parse_user(*name);
  if (uid && *uid <= kUid.max) return *uid;
  unknown = !uid;
  node.problem("{}", uid ? fmt::format("must be from 0 to {}, not {}", kUid.max, *uid)
                         : uid.error().message);
  return std::nullopt;
}

ordered_json user_schema() {
  ordered_json name = text_schema({});
  name["minLength"] = 1;
  return {{"anyOf", {number_schema(kUid), std::move(name)}}};
}

void describe_side(ConfigSection& section, FilterSide& side) {
  const auto pid = [](const ConfigNode& element) { return element.number(kPid); };
  describe_list(section, {"pid", "Process or thread ids."}, {FILTER_IDS_MAX, number_schema(kPid)},
                side.pid, pid);
  describe_list(
      section, {"uid", "Users, by number or name."}, {FILTER_UIDS_MAX, user_schema()}, side.uid,
      [unknown = false](const ConfigNode& element) mutable { return read_user(element, unknown); });
  const auto comm = [](const ConfigNode& element) { return element.text(kCommText); };
  describe_list(
      section,
      {"comm", "Task names of at most 15 bytes, exact or with a trailing star: \"nginx*\"."},
      {FILTER_COMM_MAX, text_schema(kCommText)}, side.comm, comm);
  describe_list(section,
                {"follow", "Processes that are followed with their threads and all descendants."},
                {FOLLOW_ROOTS_MAX, number_schema(kPid)}, side.follow, pid);
  const auto cgroup = [](const ConfigNode& element) { return element.text(kCgroupText); };
  describe_list(
      section,
      {"cgroup", "Control groups (v2), absolute or below the cgroup mount, with those below them."},
      {FILTER_CGROUP_MAX, text_schema(kCgroupText)}, side.cgroup, cgroup);
}

json side_to_json(const FilterSide& side) {
  return {{"pid", side.pid},
          {"uid", side.uid},
          {"comm", side.comm},
          {"follow", side.follow},
          {"cgroup", side.cgroup}};
}

bool is_syscall(std::string_view name) {
  for (uint32_t abi = 0; abi < SYSCALL_ABIS; ++abi)
    if (syscall_number(abi, name)) return true;
  return false;
}

std::vector<std::string_view> all_syscalls() {
  std::vector<std::string_view> names;
  for (uint32_t abi = 0; abi < SYSCALL_ABIS; ++abi)
    for (int32_t number = 0; number < SYSCALL_MAX; ++number)
      if (auto name = syscall_name(abi, number); !name.empty()) names.push_back(name);
  return names;
}

// The kernel's limits for both sides together.
void check_sides(const ConfigNode& node, const FilterSettings& filter) {
  const FilterSide &include = filter.include, &exclude = filter.exclude;
  if (size_t ids =
          include.pid.size() + include.uid.size() + exclude.pid.size() + exclude.uid.size();
      ids > FILTER_IDS_MAX)
    node.problem("has {} pids and uids in all; at most {} are possible", ids,
                 static_cast<int>(FILTER_IDS_MAX));
  if (size_t roots = include.follow.size() + exclude.follow.size(); roots > FOLLOW_ROOTS_MAX)
    node.problem("follows {} processes in all; at most {} are possible", roots,
                 static_cast<int>(FOLLOW_ROOTS_MAX));
}

}  // namespace

void read_syscalls(const ConfigNode& node, std::vector<std::string>& names) {
  names.clear();
  for (const ConfigNode& element : node.list(kSyscallsMax)) {
    auto name = element.text();
    if (!name) continue;
    if (!is_syscall(*name))
      element.problem("{}", unknown_name("system call", *name, all_syscalls(),
                                         "'ausyscall --dump' lists those of this machine"));
    else if (std::ranges::find(names, *name) == names.end())
      names.push_back(*name);
  }
}

void describe_filter(ConfigSection& filter, FilterSettings& settings) {
  describe_side(filter, settings.include);
  filter.section({"exclude", "Whose events are rejected."},
                 [&](ConfigSection& exclude) { describe_side(exclude, settings.exclude); });
  filter.check([&](const ConfigNode& node) { check_sides(node, settings); });
}

json filter_to_json(const FilterSettings& filter) {
  json value = side_to_json(filter.include);
  value["exclude"] = side_to_json(filter.exclude);
  if (!filter.syscall.empty()) value["syscall"] = filter.syscall;
  return value;
}

Result<FilterSettings> merge_filter(FilterSettings current, const json& patch) {
  Problems problems;
  // In the configuration system calls are selected in "events"; in a command they are here.
  ConfigReader::read(ConfigNode(patch, "filter", problems), [&](ConfigSection& filter) {
    describe_filter(filter, current);
    filter.value({"syscall", {}}, {},
                 [&](const ConfigNode& list) { read_syscalls(list, current.syscall); });
  });
  if (problems.any()) return std::unexpected(problems.error(ExitCode::usage));
  return current;
}

Result<FilterSettings> without_keys(const FilterSettings& current,
                                    const std::vector<std::string>& keys) {
  constexpr std::string_view kExclude = "exclude.";
  json patch = json::object();
  for (const std::string& key : keys) {
    if (key.starts_with(kExclude))
      patch["exclude"][key.substr(kExclude.size())] = json::array();
    else
      patch[key] = json::array();
  }
  return merge_filter(current, patch);
}

}  // namespace ktraced
