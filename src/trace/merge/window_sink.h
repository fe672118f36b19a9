// SPDX-License-Identifier: BSD-2-Clause
// Leaves out what is outside of a time window, or in some times within it.
#pragma once

#include <algorithm>
#include <span>

#include "trace/directory/time_window.h"
#include "trace/merge/merge.h"

namespace ktraced {

// A sink in front of another.
class WindowSink : public MergeSink {
 public:
  // What the arguments refer to must outlive this.
  WindowSink(const TimeWindow& window, std::span<const TimeWindow> left_out, MergeSink& next)
      : window_(window), left_out_(left_out), next_(next) {}
  void on_record(const RecordOrigin& from, RecordView record) override {
    if (window_.contains(record.ts()) && end_of_left_out(record.ts()) == 0)
      next_.on_record(from, record);
  }
  void on_stack(const RecordOrigin& from, RecordView record) override {
    next_.on_stack(from, record);
  }
  // The events may have been lost behind the time that is left out.
  void on_loss(const LossItem& loss) override {
    LossItem moved = loss;
    if (const uint64_t end = end_of_left_out(loss.ts); end != 0) moved.ts = end + 1;
    if (window_.contains(moved.ts)) next_.on_loss(moved);
  }

 private:
  // Where the left out time that contains `ts` ends; 0: none does.
  [[nodiscard]] uint64_t end_of_left_out(uint64_t ts) const {
    const auto found =
        std::ranges::find_if(left_out_, [ts](const TimeWindow& time) { return time.contains(ts); });
    return found == left_out_.end() ? 0 : found->end_ns;
  }

  TimeWindow window_;
  std::span<const TimeWindow> left_out_;
  MergeSink& next_;
};

}  // namespace ktraced
