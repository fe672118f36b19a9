// SPDX-License-Identifier: BSD-2-Clause
// The one description of the configuration's keys. Each section is described by a function that
// names its keys, rules and variables; ConfigReader reads and checks values with it, and
// config_schema() writes the JSON Schema with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/config/config_node.h"

namespace ktraced {

// A key of a section. The variable that is passed with it has the default value.
struct ConfigKey {
  std::string_view name;
  std::string_view doc;  // one sentence, for the schema
};

// A list, with the schema of its elements.
struct ListRule {
  size_t max_size;
  nlohmann::ordered_json element;
};

// One section of the configuration, while it is described. Variables keep their value if the key
// is missing or has a bad value.
class ConfigSection {
 public:
  using Describe = std::function<void(ConfigSection&)>;
  using ReadNode = std::function<void(const ConfigNode&)>;
  using ReadList = std::function<void(const std::vector<ConfigNode>&)>;

  virtual ~ConfigSection() = default;
  virtual void number(const ConfigKey& key, const NumberRule& rule, uint32_t& value) = 0;
  virtual void flag(const ConfigKey& key, bool& value) = 0;
  virtual void choice(const ConfigKey& key, std::span<const std::string_view> choices,
                      std::string& value) = 0;
  virtual void text(const ConfigKey& key, const TextRule& rule, std::string& value) = 0;
  // An absolute path. If `purpose` is not empty, the key is required; it ends the message.
  virtual void directory(const ConfigKey& key, std::filesystem::path& value,
                         std::string_view purpose = {}) = 0;
  virtual void list(const ConfigKey& key, const ListRule& rule, const ReadList& read) = 0;
  // A section inside this section.
  virtual void section(const ConfigKey& key, const Describe& describe) = 0;
  // Checks what the values of the section mean together; `read` gets the section.
  virtual void check(const ReadNode& read) = 0;
  // A value of any other form.
  virtual void value(const ConfigKey& key, const nlohmann::ordered_json& schema,
                     const ReadNode& read) = 0;
};

// The schema of a list element.
[[nodiscard]] nlohmann::ordered_json number_schema(const NumberRule& rule);
[[nodiscard]] nlohmann::ordered_json text_schema(const TextRule& rule);

}  // namespace ktraced
