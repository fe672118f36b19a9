// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/control/parameters.h"

#include <gtest/gtest.h>

namespace ktraced {
namespace {

using nlohmann::json;

template <class T>
void expect_refused(const Result<T>& value, const std::string& message) {
  ASSERT_FALSE(value) << message;
  EXPECT_EQ(value.error().code, ExitCode::usage);
  EXPECT_EQ(value.error().message, message);
}

TEST(Parameters, AreTheFallbackWhenTheyAreMissing) {
  EXPECT_FALSE(flag_parameter(json::object(), "wait").value());
  EXPECT_TRUE(flag_parameter(json::object(), "wait", true).value());
  EXPECT_EQ(text_parameter(json::object(), "name").value(), "");
  EXPECT_EQ(text_parameter({{"name", "a"}}, "name", "b").value(), "a");
  EXPECT_EQ(number_parameter(json::object(), "ms", 0, 1, 9).value(), 0U) << "out of the range";
  EXPECT_TRUE(names_if_given(json::object(), "keys").value().empty());
  const std::vector<std::string> names = {"a", "b*"};
  EXPECT_EQ(names_if_given({{"keys", names}}, "keys").value(), names);
}

TEST(Parameters, OfAWrongTypeAreRefusedByName) {
  expect_refused(flag_parameter({{"wait", 1}}, "wait"), "'wait' must be true or false");
  expect_refused(flag_parameter({{"wait", nullptr}}, "wait"), "'wait' must be true or false");
  expect_refused(text_parameter({{"name", true}}, "name"), "'name' must be a string");
  expect_refused(parameter<std::string>(json::object(), "text", {}, "a definition"),
                 "'text' must be a definition");
  for (const json& number : {json(0U), json(10U), json(-1), json(1.5), json("1"), json(true)})
    expect_refused(number_parameter({{"ms", number}}, "ms", 5, 1, 9),
                   "'ms' must be a whole number from 1 to 9");
  EXPECT_EQ(number_parameter({{"ms", 9U}}, "ms", 5, 1, 9).value(), 9U);
}

TEST(Parameters, ListsOfNamesAreBounded) {
  for (const json& names : {json(nullptr), json("a"), json::array(), json::object()})
    expect_refused(names_if_given({{"keys", names}}, "keys"), "'keys' must be a list of names");
  expect_refused(names_parameter(json::object(), "names"), "'names' must be a list of names");
  expect_refused(names_parameter({{"names", {"a", 1}}}, "names"),
                 "'names' must be a list of strings");
  expect_refused(names_parameter({{"names", std::vector<std::string>(257, "a")}}, "names"),
                 "'names' has 257 names; at most 256 are possible in one request");
  expect_refused(names_parameter({{"names", json::array({std::string(257, 'a')})}}, "names"),
                 "'names' holds a name of 257 bytes; at most 256 are possible");
}

TEST(Parameters, ListsReadEachEntry) {
  const auto read = [](const json& entry) -> Result<int> {
    if (!entry.is_number()) return fail(ExitCode::usage, "'ids' holds {}", entry.dump());
    return entry.get<int>();
  };
  const auto ids = [&](const json& params) {
    return list_parameter<int>(params, "ids", 2, "small ids", read);
  };
  EXPECT_EQ(ids({{"ids", {3, 1}}}).value(), (std::vector<int>{3, 1}));
  EXPECT_TRUE(ids({{"ids", json::array()}}).value().empty());
  expect_refused(ids(json::object()), "'ids' must be a list of at most 2 small ids");
  expect_refused(ids({{"ids", {1, 2, 3}}}), "'ids' must be a list of at most 2 small ids");
  expect_refused(ids({{"ids", {1, "a"}}}), "'ids' holds \"a\"");
}

}  // namespace
}  // namespace ktraced
