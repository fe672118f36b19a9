// SPDX-License-Identifier: BSD-2-Clause
// Pseudonyms of kernel addresses: a keyed permutation.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "trace/metadata/kernel_text.h"

namespace ktraced {

// 128 random bits.
using PseudonymKey = std::array<uint64_t, 2>;

// SipHash-2-4 of one word.
[[nodiscard]] uint64_t keyed_hash(const PseudonymKey& key, uint64_t word);

// False for user addresses, small numbers and 0, and for the last 2 MiB, which are never mapped:
// error numbers are there. The kernel's half begins where it does with five levels of page tables.
[[nodiscard]] constexpr bool is_kernel_address(uint64_t value) {
  return value >= 0xff00'0000'0000'0000 && value < 0xffff'ffff'ffe0'0000;
}

// Replaces kernel addresses, and leaves all other values. Equal addresses get equal pseudonyms
// with the same key. Who has no key learns nothing about an address from its pseudonym, except
// whether it is code.
class AddressPseudonyms {
 public:
  explicit AddressPseudonyms(const PseudonymKey& key) : key_(key) {}
  // Pseudonyms with a random key. Aborts if the kernel gives no random numbers.
  [[nodiscard]] static AddressPseudonyms random();

  // The pseudonym as code or data. Only for values that the kernel has chosen: who could choose the
  // value would learn the pseudonym of an address, and recognize it elsewhere.
  [[nodiscard]] uint64_t hide(uint64_t value) const;
  // An opaque pseudonym, for values that a process may have chosen. With another `place`, the same
  // value gets another pseudonym.
  [[nodiscard]] uint64_t hide_opaque(uint64_t value, uint32_t place) const;
  // A pseudonym of the number of a stack: who tries all possible addresses could find them by the
  // number. Equal numbers get equal pseudonyms. 0, no stack, stays.
  [[nodiscard]] uint64_t hide_number(uint64_t number) const;
  // A pseudonym of the address at which a process has mapped something: the first address of a
  // page, and below those of the kernel. Another one in each layout (struct rec_stack): who maps
  // something at an address does not learn the pseudonym that it has in another program.
  [[nodiscard]] uint64_t hide_mapping(uint32_t layout, uint64_t start) const;
  // The address behind a result of hide(); nothing for any other value, also for an address.
  [[nodiscard]] std::optional<uint64_t> reveal(uint64_t pseudonym) const;

 private:
  [[nodiscard]] uint64_t pseudonym(PseudonymOf what, uint32_t place, uint64_t address) const;

  PseudonymKey key_;
};

}  // namespace ktraced
