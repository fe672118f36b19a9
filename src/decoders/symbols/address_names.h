// SPDX-License-Identifier: BSD-2-Clause
// Which name an address has, from ranges that may overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ktraced {

// Add ranges, finish(), then ask. Where ranges overlap, the one that was added last has the
// addresses. Takes 16 bytes and the name for each range, and more until finish().
class AddressNames {
 public:
  // The files that name ranges come from anybody.
  static constexpr size_t kMaxRanges = size_t{4} << 20;
  static constexpr size_t kMaxNameBytes = size_t{256} << 20;

  // A name ends with a NUL, or after 64 KiB. Empty ranges, those of 4 GiB and more,
  // and those without a name are left out. False if there is no room for another one.
  [[nodiscard]] bool add(uint64_t begin, uint64_t size, std::string_view name);
  void finish();

  struct Found {
    std::string_view name;  // valid as long as this object
    uint64_t offset = 0;    // from the beginning of its range
  };
  // Nothing for an address in no range.
  [[nodiscard]] std::optional<Found> at(uint64_t address) const;

  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  // What it takes, in bytes.
  [[nodiscard]] size_t memory() const;

 private:
  struct Range {
    uint64_t begin;
    uint32_t size;
    uint32_t name;  // offset in names_
    [[nodiscard]] uint64_t end() const { return begin + size; }
  };
  // The addresses up to the next piece.
  struct Piece {
    uint64_t begin;
    uint32_t name;    // 0: they have none
    uint32_t before;  // bytes of its range that lie before the piece
  };
  void add_piece(uint64_t begin, const Range& range);
  void end_piece(uint64_t end);

  std::vector<Range> ranges_;                 // empty after finish()
  std::vector<Piece> pieces_;                 // by address
  std::string names_ = std::string(1, '\0');  // each ends with a NUL
};

}  // namespace ktraced
