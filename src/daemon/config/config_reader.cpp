// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/config/config_reader.h"

#include "daemon/config/config_text.h"

namespace ktraced {

void ConfigReader::read(const ConfigNode& node, const Describe& describe) {
  if (!node.value().is_object()) return node.wrong_type("an object");
  ConfigReader reader(node);
  describe(reader);
  node.check_keys(reader.known_keys_);
}

std::optional<ConfigNode> ConfigReader::take(const ConfigKey& key) {
  known_keys_.push_back(key.name);
  return node_.member(key.name);
}

void ConfigReader::number(const ConfigKey& key, const NumberRule& rule, uint32_t& value) {
  if (auto member = take(key)) value = member->number(rule).value_or(value);
}

void ConfigReader::flag(const ConfigKey& key, bool& value) {
  if (auto member = take(key)) value = member->boolean().value_or(value);
}

void ConfigReader::choice(const ConfigKey& key, std::span<const std::string_view> choices,
                          std::string& value) {
  if (auto member = take(key))
    value = member->choice({choices.begin(), choices.end()}).value_or(value);
}

void ConfigReader::text(const ConfigKey& key, const TextRule& rule, std::string& value) {
  auto member = take(key);
  auto text = member ? member->text(rule) : std::nullopt;
  if (text) value = std::move(*text);
}

void ConfigReader::directory(const ConfigKey& key, std::filesystem::path& value,
                             std::string_view purpose) {
  auto member = take(key);
  if (!member && !purpose.empty()) node_.problem("must have \"{}\", {}", key.name, purpose);
  auto text = member ? member->text(kDirectoryText) : std::nullopt;
  if (text) value = std::move(*text);
}

void ConfigReader::list(const ConfigKey& key, const ListRule& rule, const ReadList& read) {
  if (auto member = take(key)) read(member->list(rule.max_size));
}

void ConfigReader::section(const ConfigKey& key, const Describe& describe) {
  if (auto member = take(key)) read(*member, describe);
}

void ConfigReader::value(const ConfigKey& key, const nlohmann::ordered_json& /*schema*/,
                         const ReadNode& read) {
  if (auto member = take(key)) read(*member);
}

}  // namespace ktraced
