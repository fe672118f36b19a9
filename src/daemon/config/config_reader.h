// SPDX-License-Identifier: BSD-2-Clause
// Reads a section of the configuration as it is described.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "daemon/config/config_section.h"

namespace ktraced {

class ConfigReader final : public ConfigSection {
 public:
  // Reads `node`, which must be an object with no other keys than those described. Problems are
  // reported there.
  static void read(const ConfigNode& node, const Describe& describe);

  void number(const ConfigKey& key, const NumberRule& rule, uint32_t& value) override;
  void flag(const ConfigKey& key, bool& value) override;
  void choice(const ConfigKey& key, std::span<const std::string_view> choices,
              std::string& value) override;
  void text(const ConfigKey& key, const TextRule& rule, std::string& value) override;
  void directory(const ConfigKey& key, std::filesystem::path& value,
                 std::string_view purpose) override;
  void list(const ConfigKey& key, const ListRule& rule, const ReadList& read) override;
  void section(const ConfigKey& key, const Describe& describe) override;
  void check(const ReadNode& read) override { read(node_); }
  void value(const ConfigKey& key, const nlohmann::ordered_json& schema,
             const ReadNode& read) override;

 private:
  explicit ConfigReader(const ConfigNode& node) : node_(node) {}
  // The value of this key, if the section has it.
  std::optional<ConfigNode> take(const ConfigKey& key);

  const ConfigNode& node_;
  std::vector<std::string_view> known_keys_;
};

}  // namespace ktraced
