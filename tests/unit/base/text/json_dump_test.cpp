// SPDX-License-Identifier: BSD-2-Clause
#include "base/text/json_dump.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace ktraced {
namespace {

using nlohmann::json;

constexpr const char* kOne = "\xef\xbf\xbd";

TEST(JsonDump, ReplacesEachByteThatIsNotUtf8) {
  const std::string one = kOne, two = one + one;
  EXPECT_EQ(json::parse(dump_json("a\xff")), "a" + one);
  EXPECT_EQ(json::parse(dump_json("a\xff\xfe")), "a" + two);
  EXPECT_EQ(json::parse(dump_json("/tmp/\xe2\x82")), "/tmp/" + two) << "a sequence that is cut";
  EXPECT_EQ(json::parse(dump_json("/tmp/\xe2")), "/tmp/" + one);
  const json document = {{"row\xff\xff", {{{"path", "\xc0\xaf"}}, 7, nullptr}}, {"good", "é"}};
  const json expected = {{"row" + two, {{{"path", two}}, 7, nullptr}}, {"good", "é"}};
  EXPECT_EQ(json::parse(dump_json(document)), expected);
  EXPECT_EQ(json::parse(dump_json(document, 2)), expected);
}

TEST(JsonDump, KeepsMembersWhoseKeysDifferInInvalidBytesOnly) {
  const std::string one = kOne;
  const json document = {{"a\xfe", 1}, {"a\xff", {{"b\xff", 2}}}, {"a" + one, 3}};
  const json expected = {
      {"a" + one, 3}, {"a" + one + one, 1}, {"a" + one + one + one, {{"b" + one, 2}}}};
  EXPECT_EQ(json::parse(dump_json(document)), expected);
}

TEST(JsonDump, KeepsTheFormOfValidDocuments) {
  const json document = {{"a", {1, 2}}, {"b", "é"}};
  EXPECT_EQ(dump_json(document), R"({"a":[1,2],"b":"é"})");
  EXPECT_EQ(dump_json(document, 1), document.dump(1));
  EXPECT_EQ(dump_json(document, -1, true), R"({"a":[1,2],"b":"\u00e9"})");
}

}  // namespace
}  // namespace ktraced
