// SPDX-License-Identifier: BSD-2-Clause
// The configuration file and its drop-ins.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/config/config_json.h"

namespace ktraced {

struct ConfigText {
  std::filesystem::path file;
  std::string text;
};

// The directory of the drop-ins of a configuration file, which need not exist: ktraced.conf.d
// beside ktraced.json.
[[nodiscard]] std::filesystem::path drop_in_directory(const std::filesystem::path& file);

// The file, then its drop-ins: *.json in their directory, ordered by name; hidden files are left
// out. Any failure is ExitCode::config.
[[nodiscard]] Result<std::vector<ConfigText>> read_config_files(const std::filesystem::path& file);

// What several files give together.
struct MergedConfig {
  std::optional<nlohmann::json> root;  // nothing: at least one file has no usable value
  Problems problems;                   // with the place of every value of `root`
};

// Merges them in order, as JSON Merge Patch (RFC 7396): an object is merged key by key, any other
// value replaces the earlier one, and null removes it.
[[nodiscard]] MergedConfig merge_config(std::span<const ConfigText> files);

// "FILE:LINE: key.path: why" for a message that begins with the path of a value: "key.path: why".
// FILE is the drop-in that has this value, or `file`; without the line if none of them has it.
[[nodiscard]] std::string with_place(const std::filesystem::path& file, const std::string& message);

}  // namespace ktraced
