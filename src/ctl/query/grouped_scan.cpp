// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/query/grouped_scan.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace ktraced {
namespace {

std::vector<uint32_t> numbers_below(size_t end) {
  const auto numbers = std::views::iota(0U, static_cast<uint32_t>(end));
  return {numbers.begin(), numbers.end()};
}

}  // namespace

GroupedScan::GroupedScan(std::unique_ptr<RowScan> rows, Grouping grouping, uint64_t memory)
    : rows_(std::move(rows)),
      grouping_(std::move(grouping)),
      memory_(memory),
      row_(grouping_.used.size()),
      keys_(grouping_.keys.size()),
      stored_(row_.size()) {
  for (size_t i = 0; i < row_.size(); ++i) {
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

uint32_t GroupedScan::group_of(std::span<const Cell> row, DistinctRows& groups) {
  for (size_t i = 0; i < keys_.size(); ++i) keys_[i] = row[place_[grouping_.keys[i].column]];
  return groups.number_of(keys_);
}

// Stores rows one by one from now on, if they differ but their keys do not.
void GroupedScan::choose_groups() {
  if (stored_.size() < kSample / 2 || keys_.size() == row_.size()) return;
  Groups groups{.keys = DistinctRows(keys_.size()), .of_rows = {}};
  for (uint32_t row = 0; row < stored_.size(); ++row)
    groups.of_rows.push_back(group_of(stored_.at(row), groups.keys));
  if (groups.keys.size() > stored_.size() / 2) return;
  stored_.drop_index();
  groups_ = std::move(groups);
}

// Stores or counts the row in row_.
void GroupedScan::add_row() {
  if (groups_) {
    stored_.append(row_);
    groups_->of_rows.push_back(group_of(row_, groups_->keys));
    return;
  }
  const uint32_t number = stored_.number_of(row_);
  if (number == counts_.size())
    counts_.push_back(1);
  else
    ++counts_[number];
  if (++taken_ == kSample) choose_groups();
}

uint64_t GroupedScan::bytes() const {
  const uint64_t of_groups =
      groups_ ? groups_->keys.bytes() + groups_->of_rows.capacity() * sizeof(uint32_t) : 0;
  return stored_.bytes() + counts_.capacity() * sizeof(uint64_t) +
         stored_.size() * sizeof(uint32_t) + of_groups + text_bytes_;
}

void GroupedScan::read_all() {
  read_ = true;
  while (rows_->next()) {
    for (size_t i = 0; i < row_.size(); ++i) row_[i] = cell_of(rows_->value(grouping_.used[i]));
    add_row();
    out_of_memory_ = bytes() > memory_ || stored_.size() >= DistinctRows::kMost;
    if (out_of_memory_) return;
  }
  groups_ ? sort_by_group() : sort();
}

bool GroupedScan::before(const Cell& a, const Cell& b) const {
  if (a.type != b.type) return a.type < b.type;
  if (a.type == Value::Type::text)
    return *texts_[static_cast<size_t>(a.number)] < *texts_[static_cast<size_t>(b.number)];
  return a.number < b.number;
}

void GroupedScan::sort() {
  sorted_ = numbers_below(stored_.size());
  std::ranges::sort(sorted_, [this](uint32_t a, uint32_t b) {
    for (const Grouping::Key& key : grouping_.keys) {
      const Cell& left = stored_.at(a)[place_[key.column]];
      const Cell& right = stored_.at(b)[place_[key.column]];
      if (left == right) continue;
      return key.descending ? before(right, left) : before(left, right);
    }
    return a < b;
  });
}

// Sorts the groups, and puts each row behind the earlier ones of its group.
void GroupedScan::sort_by_group() {
  const DistinctRows& keys = groups_->keys;
  std::vector<uint32_t> order = numbers_below(keys.size());
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) {
    for (size_t i = 0; i < keys_.size(); ++i) {
      const Cell &left = keys.at(a)[i], &right = keys.at(b)[i];
      if (left == right) continue;
      return grouping_.keys[i].descending ? before(right, left) : before(left, right);
    }
    return false;
  });
  std::vector<uint32_t> sizes(keys.size());
  for (const uint32_t group : groups_->of_rows) ++sizes[group];
  std::vector<uint32_t> places(keys.size());
  uint32_t place = 0;
  for (const uint32_t group : order) {
    places[group] = place;
    place += sizes[group];
  }
  sorted_.resize(stored_.size());
  for (uint32_t row = 0; row < stored_.size(); ++row)
    sorted_[places[groups_->of_rows[row]]++] = row;
  groups_.reset();
}

bool GroupedScan::next() {
  if (!read_)
    read_all();
  else if (++given_ == count_of(sorted_[at_]))
    ++at_, given_ = 0;
  ++number_;
  return !out_of_memory_ && at_ < sorted_.size();
}

Value GroupedScan::value(size_t column) {
  const Cell& cell = stored_.at(sorted_[at_])[place_[column]];
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
