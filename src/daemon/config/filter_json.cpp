// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/config/filter_json.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text/suggest.h"
#include "base/user_id.h"
#include "bpf/shared_state.h"
#include "daemon/config/config.h"
#include "schema/names.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr uint32_t kPidMax = 4U << 20;        // PID_MAX_LIMIT of the kernel
constexpr uint32_t kUidMax = UINT32_MAX - 1;  // (uid_t)-1 is no user
constexpr size_t kPathMax = 4095;

// Values in the order given, each once.
template <class T, class Read>
void read_list(const ConfigNode& side, std::string_view key, size_t max_size, std::vector<T>& out,
               Read&& read) {
  auto node = side.member(key);
  if (!node) return;
  out.clear();
  for (const ConfigNode& element : node->list(max_size)) {
    auto value = read(element);
    if (value && std::ranges::find(out, *value) == out.end()) out.push_back(std::move(*value));
  }
}

std::optional<std::string> read_comm(const ConfigNode& node) {
  auto comm = node.text();
  if (!comm) return comm;
  std::string_view name(*comm);
  bool beginning = name.ends_with('*');
  if (beginning) name.remove_suffix(1);
  if (name.empty()) {
    node.problem("{}",
                 beginning ? "'*' alone matches every task: leave it out" : "must not be empty");
    return std::nullopt;
  }
  if (name.size() >= COMM_LEN) {
    node.problem("is longer than the {} bytes the kernel keeps of a task's name", COMM_LEN - 1);
    return std::nullopt;
  }
  if (name.find('*') != std::string_view::npos) {
    node.problem("'*' is possible only at the end");
    return std::nullopt;
  }
  return comm;
}

std::optional<std::string> read_cgroup(const ConfigNode& node) {
  auto path = node.text();
  if (!path) return path;
  if (path->empty() || path->size() > kPathMax) {
    node.problem("must be the path of a control group, of 1 to {} bytes", kPathMax);
    return std::nullopt;
  }
  if (("/" + *path + "/").find("/../") != std::string::npos) {
    node.problem("must not contain '..'");
    return std::nullopt;
  }
  return path;
}

// A number, or the name of a user: names are looked up once, when they are read.
std::optional<uint32_t> read_user(const ConfigNode& node) {
  if (node.value().is_number()) return node.number(0, kUidMax);
  if (!node.value().is_string()) {
    node.wrong_type("a uid or the name of a user");
    return std::nullopt;
  }
  const auto name = node.text();
  if (!name) return std::nullopt;
  const auto uid = parse_user(*name);
  if (uid && *uid <= kUidMax) return *uid;
  node.problem(
      "{}", uid ? fmt::format("must be from 0 to {}, not {}", kUidMax, *uid) : uid.error().message);
  return std::nullopt;
}

void read_side(const ConfigNode& node, FilterSide& side) {
  auto pid = [](const ConfigNode& element) { return element.number(1, kPidMax); };
  read_list(node, "pid", FILTER_IDS_MAX, side.pid, pid);
  read_list(node, "uid", FILTER_IDS_MAX, side.uid, read_user);
  read_list(node, "comm", FILTER_COMM_MAX, side.comm, read_comm);
  read_list(node, "follow", FOLLOW_ROOTS_MAX, side.follow, pid);
  read_list(node, "cgroup", FILTER_CGROUP_MAX, side.cgroup, read_cgroup);
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

void read_sides(const ConfigNode& node, FilterSettings& filter) {
  read_side(node, filter.include);
  if (auto exclude = node.member("exclude");
      exclude && exclude->object({"pid", "uid", "comm", "follow", "cgroup"}))
    read_side(*exclude, filter.exclude);

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
  for (const ConfigNode& element : node.list(size_t{SYSCALL_ABIS} * SYSCALL_MAX)) {
    auto name = element.text();
    if (!name) continue;
    if (!is_syscall(*name))
      element.problem("{}", unknown_name("system call", *name, all_syscalls(),
                                         "'ausyscall --dump' lists those of this machine"));
    else if (std::ranges::find(names, *name) == names.end())
      names.push_back(*name);
  }
}

void read_filter(const ConfigNode& node, FilterSettings& filter) {
  if (node.object({"pid", "uid", "comm", "follow", "cgroup", "exclude"})) read_sides(node, filter);
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
  const ConfigNode node(patch, "filter", problems);
  if (node.object({"pid", "uid", "comm", "follow", "cgroup", "syscall", "exclude"})) {
    read_sides(node, current);
    if (auto syscalls = node.member("syscall")) read_syscalls(*syscalls, current.syscall);
  }
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
