// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/access/pseudonyms.h"

#include <sys/random.h>

#include <bit>
#include <cerrno>
#include <cstdlib>
#include <span>

namespace ktraced {
namespace {

// The first byte is the same in all kernel addresses. The other 56 bits are permuted by a Feistel
// network, whose halves are too short for fewer rounds.
constexpr uint32_t kHalfBits = 28;
constexpr uint64_t kHalf = (uint64_t{1} << kHalfBits) - 1;
constexpr uint64_t kFirstByte = uint64_t{0xff} << 56;
constexpr uint32_t kRounds = 12;

struct SipState {
  uint64_t v0, v1, v2, v3;

  void round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
  void absorb(uint64_t word) {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
};

uint64_t round_value(const PseudonymKey& key, uint32_t place, uint32_t round, uint64_t half) {
  return keyed_hash(key, uint64_t{place} << 32 | uint64_t{round} << kHalfBits | half) & kHalf;
}

PseudonymOf kind_of(uint64_t address) {
  return address >= kKernelTextStart ? PseudonymOf::code : PseudonymOf::data;
}

}  // namespace

uint64_t keyed_hash(const PseudonymKey& key, uint64_t word) {
  constexpr uint64_t kLength = uint64_t{sizeof(word)} << 56;
  SipState state{.v0 = key[0] ^ 0x736f6d6570736575,
                 .v1 = key[1] ^ 0x646f72616e646f6d,
                 .v2 = key[0] ^ 0x6c7967656e657261,
                 .v3 = key[1] ^ 0x7465646279746573};
  state.absorb(word);
  state.absorb(kLength);
  state.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) state.round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

AddressPseudonyms AddressPseudonyms::random() {
  PseudonymKey key{};
  std::span<std::byte> rest = std::as_writable_bytes(std::span(key));
  while (!rest.empty()) {
    const ssize_t got = ::getrandom(rest.data(), rest.size(), 0);
    if (got < 0 && errno != EINTR) std::abort();
    if (got > 0) rest = rest.subspan(static_cast<size_t>(got));
  }
  return AddressPseudonyms(key);
}

uint64_t AddressPseudonyms::pseudonym(PseudonymOf what, uint32_t place, uint64_t address) const {
  uint64_t left = address >> kHalfBits & kHalf, right = address & kHalf;
  for (uint32_t round = 0; round < kRounds; ++round) {
    const uint64_t next = left ^ round_value(key_, place, round, right);
    left = right;
    right = next;
  }
  return static_cast<uint64_t>(what) << 56 | left << kHalfBits | right;
}

uint64_t AddressPseudonyms::hide(uint64_t value) const {
  if (!is_kernel_address(value)) return value;
  const PseudonymOf kind = kind_of(value);
  return pseudonym(kind, static_cast<uint32_t>(kind), value);
}

uint64_t AddressPseudonyms::hide_opaque(uint64_t value, uint32_t place) const {
  constexpr uint32_t kOpaque = 1U << 31;
  if (!is_kernel_address(value)) return value;
  return pseudonym(PseudonymOf::opaque, place | kOpaque, value);
}

// With a key of its own: nothing that is known of these results is of use for addresses.
uint64_t AddressPseudonyms::hide_number(uint64_t number) const {
  constexpr uint64_t kNotZero = uint64_t{1} << 63;
  return number == 0 ? 0 : keyed_hash({~key_[0], key_[1]}, number) | kNotZero;
}

// It is a page in 56 bits, so that hardly ever two mappings overlap.
uint64_t AddressPseudonyms::hide_mapping(uint32_t layout, uint64_t start) const {
  constexpr uint64_t kPages = 0x00ff'ffff'ffff'f000;
  const PseudonymKey key = {key_[0], ~key_[1]};
  return keyed_hash(key, keyed_hash(key, layout) ^ start) & kPages;
}

std::optional<uint64_t> AddressPseudonyms::reveal(uint64_t pseudonym) const {
  const auto kind = static_cast<PseudonymOf>(pseudonym >> 56);
  if (kind != PseudonymOf::code && kind != PseudonymOf::data) return std::nullopt;
  uint64_t left = pseudonym >> kHalfBits & kHalf, right = pseudonym & kHalf;
  for (uint32_t round = kRounds; round-- > 0;) {
    const uint64_t previous = right ^ round_value(key_, static_cast<uint32_t>(kind), round, left);
    right = left;
    left = previous;
  }
  const uint64_t address = kFirstByte | left << kHalfBits | right;
  if (!is_kernel_address(address) || kind_of(address) != kind) return std::nullopt;
  return address;
}

}  // namespace ktraced
