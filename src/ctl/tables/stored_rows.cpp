// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/tables/stored_rows.h"

#include <algorithm>
#include <functional>
#include <ranges>
#include <utility>

#include "base/text/plain_text.h"

namespace ktraced {

void StoredRows::text(std::string_view text) {
  values_.push_back({.type = Type::text, .text = printable(text)});
}

void StoredRows::name(std::string_view text) {
  if (text.empty()) return null();
  values_.push_back({.type = Type::name, .number = text.size(), .name = text.data()});
}

void StoredRows::wall(std::optional<uint64_t> ns) {
  if (!ns) return null();
  values_.push_back({.type = Type::wall, .number = *ns});
}

Value StoredRows::at(size_t row, size_t column, WallClock& clock) const {
  const Stored& stored = values_[row * width_ + column];
  switch (stored.type) {
    case Type::integer:
      return Value::integer(stored.number);
    case Type::text:
      return Value::of(stored.text);
    case Type::name:
      return Value::name({stored.name, stored.number});
    case Type::wall:
      return Value::of(clock.of(static_cast<int64_t>(stored.number)));
    case Type::null:
      break;
  }
  return {};
}

std::optional<uint64_t> StoredRows::number_at(size_t row, size_t column) const {
  const Stored& stored = values_[row * width_ + column];
  if (stored.type != Type::integer) return std::nullopt;
  return stored.number;
}

size_t StoredRows::hash(size_t row) const {
  constexpr size_t kSpread = 0x9e3779b97f4a7c15;
  size_t hash = 0;
  for (size_t column = 0; column < width_; ++column) {
    const Stored& stored = values_[row * width_ + column];
    const std::string_view text =
        stored.type == Type::name ? std::string_view(stored.name, stored.number) : stored.text;
    hash = (hash ^ static_cast<size_t>(stored.type)) * kSpread;
    hash = (hash ^ stored.number) * kSpread;
    hash = (hash ^ std::hash<std::string_view>{}(text)) * kSpread;
    hash ^= hash >> 32;
  }
  return hash;
}

BatchScan::BatchScan(const std::vector<Column>& columns, ScanLimits limits,
                     const std::atomic<bool>& stop)
    : stop_(stop), rows_(columns.size()) {
  for (size_t i = 0; i < columns.size(); ++i) {
    auto* list = columns[i].limits == Limits::cpu   ? &limits.cpus
                 : columns[i].limits == Limits::tid ? &limits.tids
                 : columns[i].limits == Limits::pid ? &limits.pids
                                                    : nullptr;
    if (list != nullptr && *list) allowed_.push_back({i, std::move(**list)});
  }
}

bool BatchScan::matches(size_t row) const {
  return std::ranges::all_of(allowed_, [&](const Allowed& each) {
    const auto number = rows_.number_at(row, each.column);
    return number && std::ranges::binary_search(each.numbers, *number);
  });
}

bool BatchScan::next() {
  while (!stop_) {
    while (following_ < rows_.size()) {
      at_ = following_++;
      if (matches(at_)) return true;
    }
    before_ += rows_.size();
    rows_.clear();
    at_ = following_ = 0;
    if (!more_) return false;
    more_ = add_rows(rows_);
  }
  return false;
}

bool SortedScan::next() {
  if (!keys_) end_ = rows_.size();
  while (following_ == end_) {
    if (!keys_ || key_ == keys_->size()) return false;
    const auto numbers = std::views::iota(size_t{0}, rows_.size());
    const auto of_row = [&](size_t row) { return rows_.number_at(row, 0).value_or(0); };
    const auto found = std::ranges::equal_range(numbers, (*keys_)[key_++], {}, of_row);
    following_ = static_cast<size_t>(found.begin() - numbers.begin());
    end_ = static_cast<size_t>(found.end() - numbers.begin());
  }
  at_ = following_++;
  return true;
}

}  // namespace ktraced
