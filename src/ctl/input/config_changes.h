// SPDX-License-Identifier: BSD-2-Clause
// Sends config changes to an analysis, at the right places between the events.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>

#include "analysis/analysis.h"

namespace ktraced {

// Forwards events, and the added config changes between them: each change before the first event
// that is not older.
class ConfigChanges : public MergeSink {
 public:
  // `analysis` must outlive this.
  explicit ConfigChanges(Analysis& analysis) : analysis_(analysis) {}

  // The trace config from `ts` on. Add changes in time order, and before the events of that time
  // are taken.
  void add(uint64_t ts, TraceConfig config) { marks_.emplace_back(ts, std::move(config)); }

  void on_record(const RecordOrigin& from, RecordView record) override {
    mark_until(record.ts());
    analysis_.on_record(from, record);
  }
  void on_loss(const LossItem& loss) override {
    mark_until(loss.ts);
    analysis_.on_loss(loss);
  }
  // No more events come.
  void finish() { mark_until(UINT64_MAX); }

 private:
  void mark_until(uint64_t ts) {
    for (; !marks_.empty() && marks_.front().first <= ts; marks_.pop_front())
      analysis_.on_config_change(marks_.front().first, marks_.front().second);
  }

  Analysis& analysis_;
  std::deque<std::pair<uint64_t, TraceConfig>> marks_;
};

}  // namespace ktraced
