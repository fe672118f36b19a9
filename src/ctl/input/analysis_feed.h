// SPDX-License-Identifier: BSD-2-Clause
// Gives an analysis what its events do not say: config changes, and where histories begin.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "analysis/analysis.h"

namespace ktraced {

// Forwards events, with the added config changes and beginnings at their places between them.
class AnalysisFeed : public MergeSink {
 public:
  // `analysis` must outlive this.
  explicit AnalysisFeed(Analysis& analysis) : analysis_(analysis) {}

  // The trace config from `ts` on: given before the first event that is not older. Add changes in
  // time order, and before the events of that time are taken.
  void add_change(uint64_t ts, TraceConfig config) {
    changes_.emplace_back(ts, std::move(config));
    plan_next();
  }
  // The history of `source` begins in the middle: `losses`, whose times are set, are given before
  // its first record.
  void add_beginning(uint32_t source, std::vector<LossItem> losses) {
    beginnings_.emplace(source, std::move(losses));
    plan_next();
  }

  void on_record(const RecordOrigin& from, RecordView record) override {
    if (record.ts() >= next_ns_) [[unlikely]] {
      begin(from.source, record.ts());
      change_until(record.ts());
    }
    any_record_ = true;
    analysis_.on_record(from, record);
  }
  void on_loss(const LossItem& loss) override {
    change_until(loss.ts);
    analysis_.on_loss(loss);
  }
  void on_stack(const RecordOrigin& from, RecordView record) override {
    analysis_.on_stack(from, record);
  }
  // No more events up to `ts` come.
  void advance(uint64_t ts) { change_until(ts); }
  // No more events come.
  void finish() { change_until(UINT64_MAX); }
  // Was there a record?
  [[nodiscard]] bool any_record() const { return any_record_; }

 private:
  void change_until(uint64_t ts) {
    for (; !changes_.empty() && changes_.front().first <= ts; changes_.pop_front())
      analysis_.on_config_change(changes_.front().first, changes_.front().second);
    plan_next();
  }
  void begin(uint32_t source, uint64_t ts) {
    auto beginning = beginnings_.extract(source);
    if (beginning.empty()) return;
    for (LossItem& loss : beginning.mapped()) {
      loss.ts = ts;
      on_loss(loss);
    }
  }

  void plan_next() {
    next_ns_ = changes_.empty() ? UINT64_MAX : changes_.front().first;
    if (!beginnings_.empty()) next_ns_ = 0;
  }

  Analysis& analysis_;
  bool any_record_ = false;
  uint64_t next_ns_ = UINT64_MAX;  // earlier records need nothing added before them
  std::deque<std::pair<uint64_t, TraceConfig>> changes_;
  std::map<uint32_t, std::vector<LossItem>> beginnings_;  // by source, until its first record
};

}  // namespace ktraced
