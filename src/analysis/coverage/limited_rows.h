// SPDX-License-Identifier: BSD-2-Clause
// The rows of a table by their key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ktraced {

// Rows in the order of their appearance. All keys after the first `limit` ones share one row, which
// has `others` set.
template <class Row, class Key = uint64_t>
class LimitedRows {
 public:
  explicit LimitedRows(size_t limit) : limit_(limit) {}

  struct Place {
    uint32_t index = 0;
    bool is_new = false;
  };
  // Where the row of a key is.
  Place place_of(const Key& key) {
    if (const auto found = index_.find(key); found != index_.end()) return {.index = found->second};
    if (index_.size() >= limit_) return {.index = others()};
    index_.emplace(key, static_cast<uint32_t>(rows_.size()));
    return {.index = add(), .is_new = true};
  }
  // Where the row of all keys beyond the limit is.
  uint32_t others() {
    if (others_) return *others_;
    others_ = add();
    rows_.back().others = true;
    return *others_;
  }
  Row& operator[](uint32_t index) { return rows_[index]; }
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }

 private:
  uint32_t add() {
    rows_.emplace_back();
    return static_cast<uint32_t>(rows_.size() - 1);
  }

  size_t limit_;
  std::unordered_map<Key, uint32_t> index_;
  std::vector<Row> rows_;
  std::optional<uint32_t> others_;
};

}  // namespace ktraced
