// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/tracepoints/print_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ktraced {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PrintText, FindsFieldsPrintedAsSymbols) {
  EXPECT_THAT(
      fields_printed_as_symbols(
          R"("a=%d, %-8s %% at=%pS by=%ps p=%p", REC->a, "x,y", (void *)REC->at, REC->by, REC->p)"),
      ElementsAre("at", "by"));
  EXPECT_THAT(fields_printed_as_symbols(R"("%pS", (void *)(REC->a + REC->b))"), IsEmpty());
  EXPECT_THAT(fields_printed_as_symbols("nonsense ("), IsEmpty());
  EXPECT_THAT(fields_printed_as_symbols(R"("%pS")"), IsEmpty());
  EXPECT_THAT(fields_printed_as_symbols(R"("%)"), IsEmpty());
}

TEST(PrintText, ReplacesNamesOfConstants) {
  auto value_of = [](const std::string& name) -> std::optional<int64_t> {
    if (name == "CLASS_NONE") return 0;
    if (name == "CLASS_BAD") return -7;
    return std::nullopt;
  };
  EXPECT_EQ(
      with_constants(
          R"("CLASS_NONE %s", __print_symbolic(REC->CLASS_NONE, { CLASS_NONE, "CLASS_BAD" }, { CLASS_BAD, "b" }, { OTHER, "o" }))",
          value_of),
      R"("CLASS_NONE %s", __print_symbolic(REC->CLASS_NONE, { 0, "CLASS_BAD" }, { (-7), "b" }, { OTHER, "o" }))");
}

}  // namespace
}  // namespace ktraced
