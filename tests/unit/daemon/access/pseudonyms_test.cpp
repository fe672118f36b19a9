// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/access/pseudonyms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace ktraced {
namespace {

constexpr PseudonymKey kTestKey = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
constexpr uint64_t kCode = 0xffffffff81234560, kData = 0xffff888012345678;

// Of the reference implementation: vectors_sip64[8].
TEST(KeyedHash, IsSipHash24) {
  EXPECT_EQ(keyed_hash(kTestKey, 0x0706050403020100), 0x93f5f5799a932462);
}

TEST(Pseudonyms, AreNoAddressesAndShowWhatIsCode) {
  const AddressPseudonyms pseudonyms(kTestKey);
  EXPECT_EQ(pseudonyms.hide(kCode) >> 56, 0xc0U);
  EXPECT_TRUE(is_kernel_text(pseudonyms.hide(kCode)));
  EXPECT_EQ(pseudonyms.hide(kData) >> 56, 0xdaU);
  EXPECT_FALSE(is_kernel_text(pseudonyms.hide(kData)));
  EXPECT_FALSE(is_kernel_address(pseudonyms.hide(kData)));
}

TEST(Pseudonyms, ArePermutedWithinOneDaemon) {
  const auto pseudonyms = AddressPseudonyms::random();
  std::mt19937_64 values(1);
  std::set<uint64_t> addresses, hidden;
  for (int i = 0; i < 2000; ++i) {
    const uint64_t address = (i % 2 == 0 ? 0xffff800000000000 : kKernelTextStart) | values() >> 34;
    addresses.insert(address);
    hidden.insert(pseudonyms.hide(address));
    EXPECT_EQ(pseudonyms.reveal(pseudonyms.hide(address)), address);
  }
  EXPECT_EQ(hidden.size(), addresses.size());
}

TEST(Pseudonyms, DifferInEachDaemon) {
  const auto one = AddressPseudonyms::random(), other = AddressPseudonyms::random();
  EXPECT_NE(one.hide(kCode), other.hide(kCode));
  EXPECT_NE(other.reveal(one.hide(kCode)), kCode);
}

TEST(Pseudonyms, LeaveWhatIsNoKernelAddress) {
  const AddressPseudonyms pseudonyms(kTestKey);
  for (uint64_t value : std::initializer_list<uint64_t>{0, 1, 0x7fffffffffff, 0x00005555deadbeef,
                                                        UINT64_MAX, static_cast<uint64_t>(-4095)}) {
    EXPECT_EQ(pseudonyms.hide(value), value);
    EXPECT_EQ(pseudonyms.hide_opaque(value, 7), value);
  }
}

// A process that makes the kernel report a guessed address learns nothing about other pseudonyms.
TEST(Pseudonyms, OfChosenValuesAreOpaque) {
  const AddressPseudonyms pseudonyms(kTestKey);
  const uint64_t opaque = pseudonyms.hide_opaque(kCode, 7);
  EXPECT_EQ(opaque, pseudonyms.hide_opaque(kCode, 7));
  EXPECT_NE(opaque, pseudonyms.hide_opaque(kCode, 8));
  EXPECT_NE(opaque << 8, pseudonyms.hide(kCode) << 8);
  EXPECT_FALSE(is_kernel_text(opaque));
  EXPECT_EQ(pseudonyms.reveal(opaque), std::nullopt);
}

TEST(Pseudonyms, RevealNothingBehindAddressesAndGuesses) {
  const AddressPseudonyms pseudonyms(kTestKey);
  EXPECT_EQ(pseudonyms.reveal(kCode), std::nullopt);
  EXPECT_EQ(pseudonyms.reveal(0), std::nullopt);
  EXPECT_EQ(pseudonyms.reveal(pseudonyms.hide(kCode) ^ 1), std::nullopt);
}

}  // namespace
}  // namespace ktraced
