// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/config/config_node.h"

#include <algorithm>
#include <bit>

#include "base/text/suggest.h"

namespace ktraced {
namespace {

using nlohmann::json;

std::string type_text(const json& value) {
  switch (value.type()) {
    case json::value_t::null:
      return "null";
    case json::value_t::object:
      return "an object";
    case json::value_t::array:
      return "a list";
    case json::value_t::string:
      return "a string";
    case json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    case json::value_t::number_float:
      return value.dump();
    default:
      return "a number";
  }
}

}  // namespace

void ConfigNode::check_keys(const std::vector<std::string_view>& known_keys) const {
  for (const auto& [key, value] : value_->items()) {
    if (std::ranges::find(known_keys, key) != known_keys.end()) continue;
    std::string remedy = suggestion(key, known_keys);
    if (remedy.empty()) remedy = fmt::format("; there are {}", fmt::join(known_keys, ", "));
    problems_->add(member_path(path_, key), "unknown key" + remedy);
  }
}

std::optional<ConfigNode> ConfigNode::member(std::string_view key) const {
  auto found = value_->find(key);
  if (found == value_->end()) return std::nullopt;
  return ConfigNode(*found, member_path(path_, key), *problems_);
}

std::vector<ConfigNode> ConfigNode::list(size_t max_size) const {
  std::vector<ConfigNode> elements;
  if (!value_->is_array()) {
    wrong_type("a list");
    return elements;
  }
  if (value_->size() > max_size) {
    problem("has {} entries; at most {} are possible", value_->size(), max_size);
    return elements;
  }
  for (size_t i = 0; i < value_->size(); ++i)
    elements.emplace_back((*value_)[i], element_path(path_, i), *problems_);
  return elements;
}

std::optional<uint32_t> ConfigNode::number(const NumberRule& rule) const {
  if (!value_->is_number_integer()) {
    wrong_type("a whole number");
    return std::nullopt;
  }
  bool too_large = value_->is_number_unsigned() && value_->get<uint64_t>() > rule.max;
  if (too_large || value_->get<int64_t>() < rule.min) {
    bool explained = too_large && !rule.why_max.empty();
    problem("must be from {} to {}, not {}{}{}", rule.min, rule.max, value_->dump(),
            explained ? ": " : "", explained ? rule.why_max : "");
    return std::nullopt;
  }
  auto number = value_->get<uint32_t>();
  if (rule.power_of_two && !std::has_single_bit(number)) {
    problem("must be a power of two, such as {} or {}, not {}", std::bit_floor(number),
            std::bit_ceil(number), number);
    return std::nullopt;
  }
  return number;
}

std::optional<bool> ConfigNode::boolean() const {
  if (value_->is_boolean()) return value_->get<bool>();
  wrong_type("true or false");
  return std::nullopt;
}

std::optional<std::string> ConfigNode::text(const TextRule& rule) const {
  if (!value_->is_string()) {
    wrong_type("a string");
    return std::nullopt;
  }
  auto text = value_->get<std::string>();
  if (text.find('\0') != std::string::npos) {
    problem("must not contain a NUL character");
    return std::nullopt;
  }
  if (auto what = rule.problem_of == nullptr ? "" : rule.problem_of(text); !what.empty()) {
    problem("{}", what);
    return std::nullopt;
  }
  if (text.size() > rule.max_bytes) {
    problem("is {} bytes long; at most {} are possible", text.size(), rule.max_bytes);
    return std::nullopt;
  }
  return text;
}

std::optional<std::string> ConfigNode::choice(const std::vector<std::string_view>& choices) const {
  auto chosen = text();
  if (!chosen || std::ranges::find(choices, *chosen) != choices.end()) return chosen;
  problem("{}", unknown_name("value", *chosen, choices,
                             fmt::format("there are {}", fmt::join(choices, ", "))));
  return std::nullopt;
}

void ConfigNode::wrong_type(std::string_view expected) const {
  problem("must be {}, not {}", expected, type_text(*value_));
}

}  // namespace ktraced
