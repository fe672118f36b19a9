// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/symbols/address_names.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <queue>

namespace ktraced {
namespace {

constexpr uint32_t kNoName = 0;
constexpr size_t kMaxName = size_t{64} << 10;

}  // namespace

bool AddressNames::add(uint64_t begin, uint64_t size, std::string_view name) {
  name = name.substr(0, kMaxName);
  name = name.substr(0, name.find('\0'));
  size = std::min(size, UINT64_MAX - begin);
  if (size == 0 || size > UINT32_MAX || name.empty()) return true;
  if (ranges_.size() == kMaxRanges || names_.size() + name.size() >= kMaxNameBytes) return false;
  ranges_.push_back({begin, static_cast<uint32_t>(size), static_cast<uint32_t>(names_.size())});
  names_ += name;
  names_ += '\0';
  return true;
}

// Goes through the addresses upwards. Of the ranges that have begun, the last added comes first.
void AddressNames::finish() {
  std::vector<uint32_t> by_begin(ranges_.size());
  std::iota(by_begin.begin(), by_begin.end(), 0U);
  std::ranges::sort(by_begin, {}, [this](uint32_t i) { return ranges_[i].begin; });
  std::priority_queue<uint32_t> begun;
  uint64_t at = 0;
  for (auto next = by_begin.begin(); next != by_begin.end() || !begun.empty();) {
    if (begun.empty()) at = ranges_[*next].begin;
    while (next != by_begin.end() && ranges_[*next].begin <= at) begun.push(*next++);
    const Range& range = ranges_[begun.top()];
    add_piece(at, range);
    at = range.end();
    if (next != by_begin.end()) at = std::min(at, ranges_[*next].begin);
    while (!begun.empty() && ranges_[begun.top()].end() <= at) begun.pop();
    if (begun.empty()) end_piece(at);
  }
  ranges_ = {};
  pieces_.shrink_to_fit();
  names_.shrink_to_fit();
}

void AddressNames::add_piece(uint64_t begin, const Range& range) {
  if (!pieces_.empty() && pieces_.back().begin == begin) pieces_.pop_back();  // a gap of no length
  if (!pieces_.empty() && pieces_.back().name == range.name) return;          // it goes on
  pieces_.push_back({begin, range.name, static_cast<uint32_t>(begin - range.begin)});
}

void AddressNames::end_piece(uint64_t end) { pieces_.push_back({end, kNoName, 0}); }

std::optional<AddressNames::Found> AddressNames::at(uint64_t address) const {
  const auto after = std::ranges::upper_bound(pieces_, address, {}, &Piece::begin);
  if (after == pieces_.begin()) return std::nullopt;
  const Piece& piece = *std::prev(after);
  if (piece.name == kNoName) return std::nullopt;
  return Found{.name = names_.c_str() + piece.name, .offset = address - piece.begin + piece.before};
}

size_t AddressNames::memory() const {
  return pieces_.capacity() * sizeof(Piece) + names_.capacity();
}

}  // namespace ktraced
