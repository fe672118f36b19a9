// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/predicate/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace ktraced::test {
namespace {

using ::testing::HasSubstr;

Expression parsed(std::string_view text) {
  auto expression = parse_expression(text);
  EXPECT_TRUE(expression) << expression.error().message;
  return expression ? std::move(*expression) : Expression{};
}

std::string error_of(std::string_view text) {
  const auto expression = parse_expression(text);
  EXPECT_FALSE(expression);
  return expression ? std::string() : expression.error().message;
}

TEST(Expression, ComparesAFieldWithANumber) {
  const Expression one = parsed("ret < -0x10");
  EXPECT_EQ(one.kind, Expression::Kind::comparison);
  EXPECT_EQ(one.field, "ret");
  EXPECT_EQ(one.op, Operator::less);
  ASSERT_EQ(one.values.size(), 1U);
  EXPECT_EQ(one.values[0].number, -16);
  EXPECT_TRUE(one.values[0].negative);
  EXPECT_EQ(one.values[0].place, 6U);
}

TEST(Expression, BindsAndTighterThanOr) {
  const Expression any = parsed("a || b && !c || (d || e) && f");
  EXPECT_EQ(any.kind, Expression::Kind::any_of);
  ASSERT_EQ(any.operands.size(), 3U);
  EXPECT_EQ(any.operands[0].field, "a");
  EXPECT_EQ(any.operands[1].kind, Expression::Kind::all_of);
  EXPECT_EQ(any.operands[1].operands[1].kind, Expression::Kind::negation);
  EXPECT_EQ(any.operands[2].operands[0].kind, Expression::Kind::any_of);
}

TEST(Expression, ReadsListsNamesAndTexts) {
  const Expression in = parsed("nr in (openat, 3, 'a b')");
  EXPECT_EQ(in.op, Operator::in);
  ASSERT_EQ(in.values.size(), 3U);
  EXPECT_EQ(in.values[0].kind, Literal::Kind::name);
  EXPECT_EQ(in.values[1].number, 3);
  EXPECT_EQ(in.values[2].kind, Literal::Kind::text);
  EXPECT_EQ(in.values[2].text, "a b");
}

TEST(Expression, ReportsTheCharacterOfAnError) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "at character 1 "},
      {"ret <", "at character 6 of 'ret <': expected a number, a name, or a text in quotes"},
      {"ret < 0 nr", "at character 9 "},
      {"(ret", "at character 5 of '(ret': expected )"},
      {"ret == 'x", "at character 8 of 'ret == 'x': this text has no closing quote"},
      {"ret = 0", "at character 5 "},
      {"ret == 12x", "at character 8 "},
      {"ret == 99999999999999999999", "at character 8 "},
      {"nr in openat", "expected ( after 'in'"},
      {"nr in (1,)", "at character 10 "},
      {"== 3", "expected the name of a field"},
      {"comm == -'x'", "at character 10 "},
  };
  for (const auto& [text, message] : cases) EXPECT_THAT(error_of(text), HasSubstr(message)) << text;
}

TEST(Expression, SuggestsTheOperatorThatWasMeant) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"ret = 0", "did you mean '=='?"},      {"a or b", "did you mean '||'?"},
      {"a == 1 AND b", "did you mean '&&'?"}, {"(a or b)", "did you mean '||'?"},
      {"not x", "did you mean '!'?"},         {"not (x)", "did you mean '!'?"},
      {"x | y", "did you mean '||'?"},
  };
  for (const auto& [text, expected] : cases) EXPECT_THAT(error_of(text), HasSubstr(expected));
  EXPECT_EQ(parsed("not == 1").field, "not") << "a field of this name";
}

TEST(Expression, BoundsLengthAndDepth) {
  EXPECT_THAT(error_of(std::string(5000, ' ')), HasSubstr("at most 4096 characters"));
  EXPECT_THAT(error_of(std::string(1000, '(')), HasSubstr("nested too deeply"));
  EXPECT_THAT(error_of(std::string(1000, '!')), HasSubstr("nested too deeply"));
  std::string many = "nr in (0";
  for (int i = 0; i < 300; ++i) many += ",1";
  EXPECT_THAT(error_of(many + ")"), HasSubstr("more than 256 values"));
}

}  // namespace
}  // namespace ktraced::test
