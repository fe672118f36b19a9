// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/symbols/demangle.h"

#include <gtest/gtest.h>

#include <string>

namespace ktraced {
namespace {

TEST(Demangle, KnowsNamesOfCpp) {
  EXPECT_EQ(demangled("_ZN6shapes10hypotenuseEii"), "shapes::hypotenuse(int, int)");
  EXPECT_EQ(demangled("_ZNSt6vectorIiSaIiEE9push_backERKi"),
            "std::vector<int, std::allocator<int> >::push_back(int const&)");
  EXPECT_EQ(demangled("_ZN3foo3barEv.cold"), "foo::bar() [clone .cold]");
}

TEST(Demangle, KnowsBothFormsOfRust) {
  EXPECT_EQ(demangled("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE"),
            "core::fmt::Formatter::pad");
  EXPECT_EQ(demangled("_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$"
                      "4drop17h0123456789abcdefE"),
            "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop");
  EXPECT_EQ(demangled("_RNvCs15kBYyAo9fc_7mycrate7example"), "mycrate::example");
  EXPECT_EQ(demangled("_RNvXs_C1aNtB4_1bNtC1c1d3foo"), "<a::b as c::d>::foo");
}

TEST(Demangle, LeavesOtherNames) {
  for (const char* name : {"", "main", "_start", "_Z", "_R", "_Zgarbage", "_RNvgarbage", "_ZN3foo",
                           "_ZN99999999999999999999999999999999aE", "main.main", "0x10"})
    EXPECT_EQ(demangled(name), name);
}

TEST(Demangle, LeavesANameThatGrowsWithoutEnd) {
  // Each part is twice the one before.
  std::string name = "_Z1f1aIiiE";
  for (const char part : std::string("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    const std::string reference = std::string("S") + part + "_";
    name.append("S_I").append(reference).append(reference).append("E");
  }
  EXPECT_EQ(demangled(name), name);
  EXPECT_EQ(demangled("_ZN6shapes10hypotenuseEii"), "shapes::hypotenuse(int, int)");
}

TEST(Demangle, LeavesNamesThatAreNestedTooDeep) {
  EXPECT_EQ(demangled("_Z1f" + std::string(20, 'P') + "i"), "f(int" + std::string(20, '*') + ")");
  for (const size_t depth : {500, 5000, 1'000'000}) {
    std::string rust = "_R";
    for (size_t i = 0; i < depth; i++) rust += "IC";
    for (const char* part : {"P", "N1a", "1aI", "F", "IS_E"}) {
      std::string name = "_Z1f";
      for (size_t i = 0; i < depth; i++) name += part;
      EXPECT_EQ(demangled(name), name);
    }
    EXPECT_EQ(demangled(rust + "NvC1a1f"), rust + "NvC1a1f");
  }
}

}  // namespace
}  // namespace ktraced
