// SPDX-License-Identifier: BSD-2-Clause
// Leaves out what is outside of a time window.
#pragma once

#include "trace/directory/time_window.h"
#include "trace/merge/merge.h"

namespace ktraced {

// A sink in front of another.
class WindowSink : public MergeSink {
 public:
  WindowSink(const TimeWindow& window, MergeSink& next) : window_(window), next_(next) {}
  void on_record(const RecordOrigin& from, RecordView record) override {
    if (window_.contains(record.ts())) next_.on_record(from, record);
  }
  void on_loss(const LossItem& loss) override {
    if (window_.contains(loss.ts)) next_.on_loss(loss);
  }

 private:
  TimeWindow window_;
  MergeSink& next_;
};

}  // namespace ktraced
