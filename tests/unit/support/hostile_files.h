// SPDX-License-Identifier: BSD-2-Clause
// Files placed where a trace has its own, to harm a reader.
#pragma once

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "trace/directory/manifest.h"

namespace ktraced::test {

// The object at a path instead of a regular file, and its name in the message.
struct WrongKind {
  std::string called;
  std::function<void(const std::filesystem::path&)> make;
};

inline std::vector<WrongKind> wrong_kinds() {
  return {
      {"a FIFO", [](const auto& path) { ::mkfifo(path.c_str(), 0644); }},
      {"a directory", [](const auto& path) { std::filesystem::create_directory(path); }},
      {"a symbolic link",
       [](const auto& path) { std::filesystem::create_symlink("/dev/zero", path); }},
  };
}

inline std::string nested(size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

// An empty manifest, for a test to damage.
inline nlohmann::json empty_manifest(const TraceOrigin& origin) {
  Manifest manifest;
  manifest.origin = origin;
  return manifest_to_json(manifest);
}

// Manifests that must be refused, by the text of the message.
inline std::map<std::string, std::string> bad_manifests(const nlohmann::json& good) {
  std::map<std::string, std::string> bad = {
      {"it nests deeper than 64 levels", nested(300'000)},
      {"it is not JSON", ""},
      {"it is no object", "[]"},
  };
  auto changed = [&](const std::function<void(nlohmann::json&)>& change) {
    nlohmann::json manifest = good;
    change(manifest);
    return manifest.dump();
  };
  for (const char* member : {"complete", "cpus", "begin_ns", "missed", "boot_id", "name"})
    bad[std::string("'") + member + "' is missing"] =
        changed([&](nlohmann::json& manifest) { manifest.erase(member); });
  bad["'end_ns' must be a number"] = changed([](auto& m) { m["end_ns"] = -1; });
  bad["'since_ns' must be a number"] = changed([](auto& m) { m["since_ns"] = "now"; });
  bad["'previous' must be a text"] = changed([](auto& m) { m["previous"] = 7; });
  bad["'taken_realtime_ns' must be a number"] =
      changed([](auto& m) { m["taken_realtime_ns"] = "now"; });
  bad["'missed.kfree' must be a number"] =
      changed([](auto& m) { m["missed"] = {{"kfree", nullptr}}; });
  bad["'cpus[0]' must be an object"] =
      changed([](auto& m) { m["cpus"] = nlohmann::json::array({7}); });
  const nlohmann::json cpu = {{"cpu", 3},
                              {"first_ns", 0},
                              {"last_ns", 0},
                              {"overwritten", 0},
                              {"lost", 0},
                              {"records", 0},
                              {"events", nlohmann::json::object()}};
  bad["CPU 3 is listed twice"] =
      changed([&](auto& m) { m["cpus"] = nlohmann::json::array({cpu, cpu}); });
  bad["'cpus' must be a list of at most 8192 entries, and has 9000"] =
      changed([&](auto& m) { m["cpus"] = nlohmann::json::array_t(9000, cpu); });
  bad["it has a list of more than 65536 entries"] =
      changed([&](auto& m) { m["cpus"] = nlohmann::json::array_t(300'000, cpu); });
  bad["'cpus[0].cpu' must be a number from 0 to 8191"] = changed([&](auto& m) {
    m["cpus"] = nlohmann::json::array({cpu});
    m["cpus"][0]["cpu"] = 8192;
  });
  return bad;
}

}  // namespace ktraced::test
