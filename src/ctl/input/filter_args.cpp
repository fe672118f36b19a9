// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/input/filter_args.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/text/json_access.h"
#include "base/text/suggest.h"
#include "base/text/text_list.h"
#include "base/user_id.h"
#include "ctl/selection/comm_pattern.h"

namespace ktraced {

namespace {

using nlohmann::json;

constexpr std::string_view kExclude = "exclude.";

constexpr uint32_t kTaskIdMax = 4U << 20;  // PID_MAX_LIMIT of the kernel

struct Key {
  std::string_view name;
  bool is_number;
};
constexpr std::array<Key, 6> kKeys{{{"pid", true},
                                    {"uid", true},
                                    {"comm", false},
                                    {"follow", true},
                                    {"cgroup", false},
                                    {"syscall", false}}};

Result<json> value_of(const Key& key, std::string_view text, std::string_view arg) {
  if (key.name == "comm") {
    auto pattern = comm_pattern(text);
    if (!pattern) return fail(ExitCode::usage, "{}, in '{}'", pattern.error().message, arg);
    return json(*pattern);
  }
  if (!key.is_number) return json(text);
  if (key.name == "uid") {
    auto user = parse_user(std::string(text));
    if (!user) return fail(ExitCode::usage, "{}, in '{}'", user.error().message, arg);
    return json(*user);
  }
  uint32_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range)
    return fail(ExitCode::usage, "'{}' in '{}' is not a {}: at most {} is possible", text, arg,
                key.name, kTaskIdMax);
  if (error != std::errc() || end != text.data() + text.size())
    return fail(ExitCode::usage, "'{}' in '{}' is not a {}: a number is needed", text, arg,
                key.name);
  return json(number);
}

Result<> add_argument(std::string_view arg, json& filter) {
  size_t equals = arg.find('=');
  if (equals == std::string_view::npos)
    return fail(ExitCode::usage, "'{}' is not of the form key=value,value…", arg);
  std::string_view name = arg.substr(0, equals);
  if (!is_filter_key(name)) return fail(ExitCode::usage, "{}", unknown_filter_key(name));
  bool exclude = name.starts_with(kExclude);
  if (exclude) name.remove_prefix(kExclude.size());
  auto key = std::ranges::find(kKeys, name, &Key::name);
  json& values = (exclude ? filter["exclude"] : filter)[std::string(name)];
  if (values.is_null()) values = json::array();
  const auto texts = split_list(arg.substr(equals + 1));
  if (texts.empty())
    return fail(ExitCode::usage,
                "'{}' has no value: 'filter clear {}' removes all values of the key", arg,
                arg.substr(0, equals));
  for (const std::string& text : texts) {
    auto value = value_of(*key, text, arg);
    if (!value) return propagate(value);
    values.push_back(std::move(*value));
  }
  return {};
}

void add_side(const json& side, std::string_view prefix, std::vector<std::string>& args) {
  for (const Key& key : kKeys) {
    const json& values = list_at(side, key.name);
    if (values.empty()) continue;
    std::vector<std::string> texts;
    for (const json& value : values)
      texts.push_back(value.is_string() ? value.get<std::string>() : value.dump());
    args.push_back(fmt::format("{}{}={}", prefix, key.name, join_list(texts)));
  }
}

}  // namespace

std::string unknown_filter_key(std::string_view name) {
  return unknown_name(
      "filter key", name, filter_keys(),
      "there are pid, uid, comm, follow and cgroup, each also after 'exclude.', and "
      "syscall");
}

std::vector<std::string> filter_keys() {
  std::vector<std::string> names;
  for (const Key& key : kKeys) {
    names.emplace_back(key.name);
    names.push_back(fmt::format("{}{}", kExclude, key.name));
  }
  std::erase_if(names, [](const std::string& name) { return !is_filter_key(name); });
  return names;
}

bool is_filter_key(std::string_view name) {
  const bool exclude = name.starts_with(kExclude);
  if (exclude) name.remove_prefix(kExclude.size());
  return std::ranges::find(kKeys, name, &Key::name) != kKeys.end() &&
         !(exclude && name == "syscall");
}

Result<json> filter_from_args(std::span<const std::string> args) {
  json filter = json::object();
  for (const std::string& arg : args)
    if (auto added = add_argument(arg, filter); !added) return propagate(added);
  return filter;
}

std::vector<std::string> filter_to_args(const json& filter) {
  std::vector<std::string> args;
  add_side(filter, "", args);
  add_side(member(filter, "exclude"), kExclude, args);
  return args;
}

}  // namespace ktraced
