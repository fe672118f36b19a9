// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/config/config_text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/config/config_files.h"

namespace ktraced {
namespace {

using nlohmann::json;

// Configurations in which @ stands for a text of each rule, as in config_schema_test.py.
const std::map<std::string, std::vector<const char*>> kTextPlaces{
    {"directory",
     {R"({"flight":{"directory":@}})", R"({"stream":{"output":{"directory":@}}})",
      R"({"bpffs":@})"}},
    {"socket", {R"({"control":{"socket":@}})"}},
    {"period", {R"({"sampling":{"period":@}})"}},
    {"metrics", {R"({"metrics":{"listen":@}})"}},
    {"comm", {R"({"filter":{"comm":[@]}})", R"({"filter":{"exclude":{"comm":[@]}}})"}},
    {"cgroup", {R"({"filter":{"cgroup":[@]}})", R"({"filter":{"exclude":{"cgroup":[@]}}})"}},
};

std::string spelled_out(const json& value) {
  if (value.is_string()) return value;
  std::string text = value.at("before");
  for (int i = 0; i < value.at("times").get<int>(); ++i) text += value.at("text");
  return text;
}

// config_schema_test.py checks that the schema accepts the same texts.
TEST(ConfigText, AcceptsAndRefusesTheListedTexts) {
  std::ifstream file(KTRACED_SOURCE_DIR "/tests/unit/daemon/config/text_values.json");
  const json rules = json::parse(file);
  ASSERT_EQ(rules.size(), kTextPlaces.size());
  for (const auto& [rule, verdicts] : rules.items()) {
    for (const auto& [verdict, values] : verdicts.items()) {
      for (const json& value : values) {
        for (std::string config : kTextPlaces.at(rule)) {
          config.replace(config.find('@'), 1, json(spelled_out(value)).dump());
          const auto read = parse_config(
              std::array{ConfigText{.file = "test.json", .text = std::string(config)}}, {});
          EXPECT_EQ(read.has_value(), verdict == "accepted")
              << config << ": " << (read ? "accepted" : read.error().message);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ktraced
