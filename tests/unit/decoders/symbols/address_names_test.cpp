// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/symbols/address_names.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace ktraced {
namespace {

std::string name_at(const AddressNames& names, uint64_t address) {
  const auto found = names.at(address);
  return found ? std::string(found->name) + "+" + std::to_string(found->offset) : "";
}

TEST(AddressNames, HasNamesUpToTheEndOfARange) {
  AddressNames names;
  EXPECT_TRUE(names.add(0x100, 0x10, "a"));
  EXPECT_TRUE(names.add(0x110, 0x10, "b"));
  EXPECT_TRUE(names.add(0x200, 0x10, "c"));
  names.finish();
  EXPECT_EQ(name_at(names, 0xff), "");
  EXPECT_EQ(name_at(names, 0x10f), "a+15");
  EXPECT_EQ(name_at(names, 0x110), "b+0");
  EXPECT_EQ(name_at(names, 0x120), "");
  EXPECT_EQ(name_at(names, 0x20f), "c+15");
  EXPECT_EQ(name_at(names, 0x210), "");
  EXPECT_EQ(name_at(names, UINT64_MAX), "");
}

TEST(AddressNames, GivesAddressesToTheRangeThatWasAddedLast) {
  AddressNames names;
  EXPECT_TRUE(names.add(0x100, 0x100, "outer"));
  EXPECT_TRUE(names.add(0x140, 0x10, "inner"));
  EXPECT_TRUE(names.add(0x180, 0x10, "hidden"));
  EXPECT_TRUE(names.add(0x178, 0x20, "over"));
  names.finish();
  EXPECT_EQ(name_at(names, 0x13f), "outer+63");
  EXPECT_EQ(name_at(names, 0x140), "inner+0");
  EXPECT_EQ(name_at(names, 0x150), "outer+80") << "it goes on behind what lies in it";
  EXPECT_EQ(name_at(names, 0x180), "over+8");
  EXPECT_EQ(name_at(names, 0x198), "outer+152");
}

TEST(AddressNames, LeavesOutRangesThatAreNone) {
  AddressNames names;
  EXPECT_TRUE(names.add(0x100, 0, "empty"));
  EXPECT_TRUE(names.add(0x100, 0x10, ""));
  EXPECT_TRUE(names.add(0x100, uint64_t{1} << 32, "huge"));
  names.finish();
  EXPECT_TRUE(names.empty());
  EXPECT_EQ(name_at(names, 0x100), "");
}

TEST(AddressNames, EndsWithTheAddressSpace) {
  AddressNames names;
  EXPECT_TRUE(names.add(UINT64_MAX - 8, 100, "last"));
  EXPECT_TRUE(names.add(UINT64_MAX, 1, "none"));
  names.finish();
  EXPECT_EQ(name_at(names, UINT64_MAX - 1), "last+7");
  EXPECT_EQ(name_at(names, UINT64_MAX), "");
}

TEST(AddressNames, CutsALongNameAndNamesWithANul) {
  AddressNames names;
  EXPECT_TRUE(names.add(0, 1, std::string(size_t{1} << 20, 'x')));
  EXPECT_TRUE(names.add(1, 1, std::string("a\0b", 3)));
  names.finish();
  EXPECT_EQ(names.at(0)->name.size(), size_t{64} << 10);
  EXPECT_EQ(name_at(names, 1), "a+0");
}

TEST(AddressNames, HasALimitForTheBytesOfNames) {
  AddressNames names;
  const std::string name(size_t{64} << 10, 'x');
  size_t added = 0;
  while (names.add(added, 1, name)) added++;
  EXPECT_LE(added * name.size(), AddressNames::kMaxNameBytes);
  names.finish();
  EXPECT_EQ(name_at(names, added - 1), name + "+0");
  EXPECT_LE(names.memory(), AddressNames::kMaxNameBytes + added * 32);
}

TEST(AddressNames, AgreesWithNamesKeptForEachAddress) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; round++) {
    AddressNames names;
    std::map<uint64_t, std::string> expected;
    for (int range = 0; range < 12; range++) {
      const uint64_t begin = random() % 64, size = random() % 24;
      const std::string name(1, static_cast<char>('a' + range));
      EXPECT_TRUE(names.add(begin, size, name));
      for (uint64_t at = 0; at < size; at++) expected[begin + at] = name + "+" + std::to_string(at);
    }
    names.finish();
    for (uint64_t address = 0; address < 100; address++)
      ASSERT_EQ(name_at(names, address), expected[address]) << round << " " << address;
  }
}

}  // namespace
}  // namespace ktraced
