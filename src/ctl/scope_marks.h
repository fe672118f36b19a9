// SPDX-License-Identifier: BSD-2-Clause
// Tells an analysis what is traced, at the places where that changes.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>

#include "decoders/analysis.h"

namespace ktraced {

// Passes on what it takes, and between it the scopes that were added, each before whatever is not
// older.
class ScopeMarks : public MergeSink {
 public:
  // `analysis` must outlive this.
  explicit ScopeMarks(Analysis& analysis) : analysis_(analysis) {}

  // From `ts` on; added in the order of time, and before the events of that time are taken.
  void add(uint64_t ts, TraceScope scope) { marks_.emplace_back(ts, std::move(scope)); }

  void on_record(const RecordOrigin& from, RecordView record) override {
    tell_until(record.ts());
    analysis_.on_record(from, record);
  }
  void on_loss(const LossItem& loss) override {
    tell_until(loss.ts);
    analysis_.on_loss(loss);
  }
  // No more events come.
  void finish() { tell_until(UINT64_MAX); }

 private:
  void tell_until(uint64_t ts) {
    for (; !marks_.empty() && marks_.front().first <= ts; marks_.pop_front())
      analysis_.on_scope(marks_.front().first, marks_.front().second);
  }

  Analysis& analysis_;
  std::deque<std::pair<uint64_t, TraceScope>> marks_;
};

}  // namespace ktraced
