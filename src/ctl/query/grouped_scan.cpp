// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/query/grouped_scan.h"

#include <algorithm>
#include <utility>

namespace ktraced {

GroupedScan::GroupedScan(std::unique_ptr<RowScan> rows, Grouping grouping, uint64_t memory)
    : rows_(std::move(rows)),
      grouping_(std::move(grouping)),
      width_(grouping_.used.size()),
      memory_(memory),
      row_(width_) {
  for (size_t i = 0; i < width_; ++i) {
    const size_t column = grouping_.used[i];
    if (column >= place_.size()) place_.resize(column + 1);
    place_[column] = i;
  }
}

int64_t GroupedScan::number_of_text(std::string_view text) {
  if (const auto found = numbers_.find(text); found != numbers_.end()) return found->second;
  const auto number = static_cast<int64_t>(texts_.size());
  texts_.push_back(&numbers_.emplace(text, number).first->first);
  text_bytes_ += text.size() + 100;  // with the entries of the tables
  return number;
}

GroupedScan::Cell GroupedScan::cell_of(const Value& value) {
  const bool is_text = value.type == Value::Type::text;
  return {.number = is_text ? number_of_text(value.text) : value.number, .type = value.type};
}

size_t GroupedScan::hash(const Cell* cells) const {
  constexpr size_t kMultiplier = 0x9e3779b97f4a7c15;
  size_t sum = 0;
  for (size_t i = 0; i < width_; ++i) {
    sum = (sum ^ static_cast<size_t>(cells[i].number) ^ static_cast<size_t>(cells[i].type)) *
          kMultiplier;
    sum ^= sum >> 32;
  }
  return sum;
}

// Makes room for twice as many different rows.
void GroupedScan::grow() {
  slots_.assign(std::max<size_t>(1024, 2 * slots_.size()), kEmpty);
  for (uint32_t group = 0; group < counts_.size(); ++group) {
    size_t slot = hash(cells_of(group)) & (slots_.size() - 1);
    while (slots_[slot] != kEmpty) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = group;
  }
}

void GroupedScan::add_row() {
  if (2 * (counts_.size() + 1) > slots_.size()) grow();
  size_t slot = hash(row_.data()) & (slots_.size() - 1);
  for (; slots_[slot] != kEmpty; slot = (slot + 1) & (slots_.size() - 1))
    if (std::equal(row_.begin(), row_.end(), cells_of(slots_[slot]))) {
      ++counts_[slots_[slot]];
      return;
    }
  slots_[slot] = static_cast<uint32_t>(counts_.size());
  counts_.push_back(1);
  cells_.insert(cells_.end(), row_.begin(), row_.end());
}

void GroupedScan::read_all() {
  read_ = true;
  while (rows_->next()) {
    for (size_t i = 0; i < width_; ++i) row_[i] = cell_of(rows_->value(grouping_.used[i]));
    add_row();
    const uint64_t bytes = cells_.capacity() * sizeof(Cell) + counts_.capacity() * 12 +
                           slots_.size() * sizeof(uint32_t) + text_bytes_;
    out_of_memory_ = bytes > memory_ || counts_.size() >= kEmpty - 1;
    if (out_of_memory_) return;
  }
  sort();
}

bool GroupedScan::before(const Cell& a, const Cell& b) const {
  if (a.type != b.type) return a.type < b.type;
  if (a.type == Value::Type::text)
    return *texts_[static_cast<size_t>(a.number)] < *texts_[static_cast<size_t>(b.number)];
  return a.number < b.number;
}

void GroupedScan::sort() {
  sorted_.resize(counts_.size());
  for (uint32_t i = 0; i < sorted_.size(); ++i) sorted_[i] = i;
  std::ranges::sort(sorted_, [this](uint32_t a, uint32_t b) {
    for (const Grouping::Key& key : grouping_.keys) {
      const Cell& left = cells_of(a)[place_[key.column]];
      const Cell& right = cells_of(b)[place_[key.column]];
      if (left == right) continue;
      return key.descending ? before(right, left) : before(left, right);
    }
    return a < b;
  });
}

bool GroupedScan::next() {
  if (!read_)
    read_all();
  else if (++given_ == counts_[sorted_[at_]])
    ++at_, given_ = 0;
  ++number_;
  return !out_of_memory_ && at_ < sorted_.size();
}

Value GroupedScan::value(size_t column) {
  const Cell& cell = cells_of(sorted_[at_])[place_[column]];
  switch (cell.type) {
    case Value::Type::integer:
      return Value::integer(static_cast<uint64_t>(cell.number));
    case Value::Type::text:
      return Value::of(*texts_[static_cast<size_t>(cell.number)]);
    case Value::Type::null:
      break;
  }
  return {};
}

}  // namespace ktraced
