// SPDX-License-Identifier: BSD-2-Clause
#include "trace/merge/deduplicator.h"

#include <algorithm>
#include <span>

namespace ktraced {

void Deduplicator::on_record(const RecordOrigin& from, RecordView record) {
  if (record.ts() != ts_) {
    ts_ = record.ts();
    passed_.clear();
    bytes_.clear();
  }
  if (Passed* original = original_of(from, record); original != nullptr) {
    original->repeats.push_back(from.source);
    ++repeated_;
    return;
  }
  auto bytes = record.bytes();
  passed_.push_back({.from = from, .offset = bytes_.size(), .size = bytes.size(), .repeats = {}});
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  next_->on_record(from, record);
}

Deduplicator::Passed* Deduplicator::original_of(const RecordOrigin& from, RecordView record) {
  for (Passed& passed : passed_) {
    auto bytes = std::span(bytes_).subspan(passed.offset, passed.size);
    if (passed.from.cpu == from.cpu && passed.from.source != from.source &&
        std::ranges::find(passed.repeats, from.source) == passed.repeats.end() &&
        std::ranges::equal(bytes, record.bytes()))
      return &passed;
  }
  return nullptr;
}

}  // namespace ktraced
