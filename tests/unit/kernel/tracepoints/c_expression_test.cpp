// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/tracepoints/c_expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ktraced {
namespace {

using ::testing::HasSubstr;

const Constants kNoConstants;

uint64_t value_of(std::string_view text, const Constants& constants = kNoConstants) {
  auto value = evaluate_c_expression(text, constants);
  EXPECT_TRUE(value) << value.error().message;
  return value.value_or(~uint64_t{0});
}

std::string error_of(std::string_view text) {
  auto value = evaluate_c_expression(text, kNoConstants);
  EXPECT_FALSE(value) << text;
  return value ? "" : value.error().message;
}

TEST(CExpression, ParsesNumbers) {
  EXPECT_EQ(value_of("0"), 0U);
  EXPECT_EQ(value_of(" 42 "), 42U);
  EXPECT_EQ(value_of("0x400u"), 0x400U);
  EXPECT_EQ(value_of("1UL"), 1U);
  EXPECT_EQ(value_of("0XffULL"), 0xffU);
}

TEST(CExpression, BindsOperatorsLikeC) {
  EXPECT_EQ(value_of("1 | 2 & 3 ^ 1"), 3U);
  EXPECT_EQ(value_of("1 << 2 + 1"), 8U);
  EXPECT_EQ(value_of("1|2<<3"), 17U);
  EXPECT_EQ(value_of("7 & ~2"), 5U);
  EXPECT_EQ(value_of("8 - 2 - 1"), 5U) << "from left to right";
  EXPECT_EQ(value_of("256 >> 4 >> 2"), 4U);
  EXPECT_EQ(value_of("-1"), ~uint64_t{0});
  EXPECT_EQ(value_of("1 << 64"), 0U);
}

TEST(CExpression, IgnoresCasts) {
  EXPECT_EQ(value_of("( gfp_t)0x400u"), 0x400U);
  EXPECT_EQ(value_of("(unsigned long)(1|(( gfp_t)2))"), 3U);
  EXPECT_EQ(value_of("((void *)0)"), 0U);
  EXPECT_EQ(value_of("(const char * *) 5"), 5U);
}

TEST(CExpression, ResolvesNamedConstants) {
  const Constants constants = {{"___GFP_IO_BIT", 6}, {"X", 1}};
  EXPECT_EQ(value_of("((((1UL))) << (___GFP_IO_BIT))", constants), 0x40U);
  EXPECT_EQ(value_of("(X) | 2", constants), 3U) << "a constant in parentheses is not a cast";
  EXPECT_EQ(value_of("(X)", constants), 1U);
}

TEST(CExpression, ReportsErrors) {
  EXPECT_THAT(error_of(""), HasSubstr("ends too early"));
  EXPECT_THAT(error_of("1 <<"), HasSubstr("ends too early"));
  EXPECT_THAT(error_of("(1"), HasSubstr("')' is missing"));
  EXPECT_THAT(error_of("1) 2"), HasSubstr("')"));
  EXPECT_THAT(error_of("X | 1"), HasSubstr("X is not known"));
  EXPECT_THAT(error_of("(X)"), HasSubstr("ends too early"));
  EXPECT_THAT(error_of("1 % 2"), HasSubstr("'% 2' is unexpected"));
  EXPECT_THAT(error_of("0x"), HasSubstr("not a number"));
  EXPECT_THAT(error_of("99999999999999999999"), HasSubstr("not a number"));
}

TEST(CExpression, RefusesDeepNesting) {
  EXPECT_THAT(error_of(std::string(100000, '(')), HasSubstr("nested too deeply"));
  EXPECT_THAT(error_of(std::string(100000, '~')), HasSubstr("nested too deeply"));
}

}  // namespace
}  // namespace ktraced
