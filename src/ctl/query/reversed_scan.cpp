// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/query/reversed_scan.h"

#include <algorithm>
#include <utility>

namespace ktraced {
namespace {

constexpr uint64_t kFirstSlice = 64;  // the first slice is this part of the table

}  // namespace

ReversedScan::ReversedScan(const QueryTable& table, const ScanLimits& limits,
                           std::vector<size_t> used, const std::atomic<bool>& stop)
    : table_(table), stop_(stop), limits_(limits), used_(std::move(used)) {
  const auto [begin, end] = table.span();
  // Rows before and behind the time of the table: there are none unless the trace is damaged.
  const auto add = [&](uint64_t from, uint64_t to, uint64_t length) {
    from = std::max(from, limits.begin_ns);
    to = std::min(to, limits.end_ns);
    if (from <= to) parts_.push_back({.begin_ns = from, .end_ns = to, .length_ns = length});
  };
  if (begin > 0) add(0, begin - 1, UINT64_MAX);
  add(begin, end, (end - begin) / kFirstSlice + 1);
  if (end < UINT64_MAX) add(end + 1, UINT64_MAX, UINT64_MAX);
  for (size_t i = 0; i < used_.size(); ++i) {
    if (used_[i] >= place_.size()) place_.resize(used_[i] + 1);
    place_[used_[i]] = i;
  }
}

bool ReversedScan::next() {
  while (left_ == 0 && !parts_.empty() && !stop_) read_slice();
  if (left_ == 0 || stop_) return false;
  --left_;
  return true;
}

// Reads the last slice of a part, or, if that has too many rows, makes the next one shorter.
void ReversedScan::read_slice() {
  Part& part = parts_.back();
  const bool is_last = part.end_ns - part.begin_ns < part.length_ns;
  ScanLimits slice = limits_;
  slice.begin_ns = is_last ? part.begin_ns : part.end_ns - part.length_ns + 1;
  slice.end_ns = part.end_ns;
  if (!store_rows(slice)) {
    part.length_ns = (last_stored_ns() - slice.begin_ns) / 2 + 1;
    return;
  }
  left_ = rowids_.size();
  const bool is_short = left_ < most_rows_ / 4;
  most_rows_ = std::min(2 * most_rows_, kMostRows);
  if (is_last) return parts_.pop_back();
  part.end_ns = slice.begin_ns - 1;
  if (is_short) part.length_ns *= 2;
}

// False if there are too many; one nanosecond may have any number.
bool ReversedScan::store_rows(const ScanLimits& slice) {
  cells_.clear();
  texts_.clear();
  rowids_.clear();
  const auto rows = table_.scan(slice, stop_);
  while (rows->next()) {
    if (rowids_.size() >= most_rows_ && last_stored_ns() > slice.begin_ns) return false;
    store_row(*rows);
  }
  return true;
}

void ReversedScan::store_row(RowScan& rows) {
  for (const size_t column : used_) {
    Cell cell{.value = rows.value(column)};
    if (cell.value.type == Value::Type::text && !cell.value.is_static) {
      cell.at = texts_.size();
      cell.size = cell.value.text.size();
      texts_ += cell.value.text;
    }
    cells_.push_back(cell);
  }
  rowids_.push_back(rows.rowid());
}

// The column of the order has times.
uint64_t ReversedScan::last_stored_ns() const {
  const size_t row = (rowids_.size() - 1) * used_.size();
  return static_cast<uint64_t>(cells_[row + place_[*table_.order()]].value.number);
}

Value ReversedScan::value(size_t column) {
  const Cell& cell = cells_[left_ * used_.size() + place_[column]];
  Value value = cell.value;
  if (value.type == Value::Type::text && !value.is_static)
    value.text = std::string_view(texts_).substr(cell.at, cell.size);
  return value;
}

}  // namespace ktraced
