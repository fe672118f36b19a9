// SPDX-License-Identifier: BSD-2-Clause
// A hash of bytes: an identity or a checksum, no secret.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ktraced {

// FNV-1a of all bytes added. A change of a single byte changes the lowest 32 bits of the value.
class Hash {
 public:
  void add(std::span<const std::byte> bytes) {
    for (std::byte b : bytes) value_ = (value_ ^ static_cast<uint64_t>(b)) * 0x100000001b3ULL;
  }
  [[nodiscard]] uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325ULL;
};

}  // namespace ktraced
