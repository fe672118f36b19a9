// SPDX-License-Identifier: BSD-2-Clause
#include "trace/merge/deduplicator.h"

#include <algorithm>
#include <span>

namespace ktraced {

void Deduplicator::on_record(const RecordOrigin& from, RecordView record) {
  if (record.ts() != ts_) {
    ts_ = record.ts();
    forwarded_.clear();
    bytes_.clear();
  }
  if (Forwarded* original = original_of(from, record); original != nullptr) {
    original->repeats.push_back(from.source);
    ++repeated_;
    return;
  }
  auto bytes = record.bytes();
  forwarded_.push_back(
      {.from = from, .offset = bytes_.size(), .size = bytes.size(), .repeats = {}});
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  next_->on_record(from, record);
}

Deduplicator::Forwarded* Deduplicator::original_of(const RecordOrigin& from, RecordView record) {
  for (Forwarded& forwarded : forwarded_) {
    auto bytes = std::span(bytes_).subspan(forwarded.offset, forwarded.size);
    if (forwarded.from.cpu == from.cpu && forwarded.from.source != from.source &&
        std::ranges::find(forwarded.repeats, from.source) == forwarded.repeats.end() &&
        std::ranges::equal(bytes, record.bytes()))
      return &forwarded;
  }
  return nullptr;
}

}  // namespace ktraced
