// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/config/config_schema.h"

#include <utility>

#include "daemon/config/config_keys.h"
#include "daemon/config/config_section.h"
#include "daemon/config/config_text.h"

namespace ktraced {
namespace {

using nlohmann::ordered_json;

class SchemaWriter final : public ConfigSection {
 public:
  static ordered_json object(std::string_view doc, const Describe& describe) {
    SchemaWriter writer;
    describe(writer);
    ordered_json schema = {
        {"description", doc}, {"type", "object"}, {"additionalProperties", false}};
    if (!writer.required_.empty()) schema["required"] = writer.required_;
    schema["properties"] = std::move(writer.properties_);
    return schema;
  }

  void number(const ConfigKey& key, const NumberRule& rule, uint32_t& value) override {
    add(key, number_schema(rule))["default"] = value;
  }
  void flag(const ConfigKey& key, bool& value) override {
    add(key, {{"type", "boolean"}})["default"] = value;
  }
  void choice(const ConfigKey& key, std::span<const std::string_view> choices,
              std::string& value) override {
    ordered_json names = ordered_json::array();
    for (std::string_view choice : choices) names.push_back(choice);
    add(key, {{"enum", std::move(names)}})["default"] = value;
  }
  void text(const ConfigKey& key, const TextRule& rule, std::string& value) override {
    add(key, text_schema(rule))["default"] = value;
  }
  void directory(const ConfigKey& key, std::filesystem::path& value,
                 std::string_view purpose) override {
    ordered_json& schema = add(key, text_schema(kDirectoryText));
    if (!purpose.empty())
      required_.push_back(key.name);
    else
      schema["default"] = value.string();
  }
  void list(const ConfigKey& key, const ListRule& rule, const ReadList& /*read*/) override {
    add(key, {{"type", "array"}, {"maxItems", rule.max_size}, {"items", rule.element}});
  }
  void section(const ConfigKey& key, const Describe& describe) override {
    properties_[std::string(key.name)] = object(key.doc, describe);
  }
  void check(const ReadNode& /*read*/) override {}
  void value(const ConfigKey& key, const ordered_json& schema, const ReadNode& /*read*/) override {
    add(key, schema);
  }

 private:
  ordered_json& add(const ConfigKey& key, const ordered_json& schema) {
    ordered_json& property = properties_[std::string(key.name)];
    property["description"] = key.doc;
    property.update(schema);
    return property;
  }

  ordered_json properties_ = ordered_json::object();
  ordered_json required_ = ordered_json::array();
};

}  // namespace

ordered_json number_schema(const NumberRule& rule) {
  if (!rule.power_of_two)
    return {{"type", "integer"}, {"minimum", rule.min}, {"maximum", rule.max}};
  ordered_json sizes = ordered_json::array();
  for (uint64_t size = rule.min; size <= rule.max; size *= 2) sizes.push_back(size);
  return {{"enum", std::move(sizes)}};
}

ordered_json text_schema(const TextRule& rule) {
  ordered_json schema = {{"type", "string"}, {"pattern", rule.pattern}};
  if (!rule.not_pattern.empty()) schema["not"] = {{"pattern", rule.not_pattern}};
  if (rule.max_bytes != SIZE_MAX) schema["maxLength"] = rule.max_bytes;
  return schema;
}

std::string config_schema(const EventGroups& groups, Config defaults) {
  ordered_json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                         {"title", "Configuration of ktraced"}};
  schema.update(
      SchemaWriter::object("Comments are allowed in the file. Every key is optional.",
                           [&](ConfigSection& root) { describe_config(root, groups, defaults); }));
  return schema.dump(2) + "\n";
}

}  // namespace ktraced
