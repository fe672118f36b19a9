// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/access/address_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace ktraced {
namespace {

std::string blanked(std::string text) {
  blank_addresses(text);
  return text;
}

TEST(AddressText, LosesTheDigitsOfKernelAddresses) {
  EXPECT_EQ(blanked("p:x 0xffffffff81000000+8 @0xFFFF888000000010"),
            "p:x 0x0000000000000000+8 @0x0000000000000000");
  EXPECT_EQ(blanked("0x0000ffffffff81000000."), "0x00000000000000000000.");
  EXPECT_EQ(blanked("p:x 18446744071578845184 y"), "p:x 0                    y");
}

TEST(AddressText, KeepsEverythingElse) {
  for (const std::string text : {"", "0x00007fffdeadbeef", "0xcc0", "18446744073709551615",
                                 "0xffffffffffffffff", "3a37b7a5-7a0e-4bd6-a5ca-bd5cbe4e7dd1",
                                 "0123456789abcdef0123456789abcdef", "18446744071578845184123"})
    EXPECT_EQ(blanked(text), text);
}

TEST(AddressText, LeavesJson) {
  const std::string text = blanked(R"({"a":18446744071578845184,"b":"0xffffffff81000000"})");
  EXPECT_EQ(nlohmann::json::parse(text)["a"], 0);
}

}  // namespace
}  // namespace ktraced
