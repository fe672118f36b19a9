// SPDX-License-Identifier: BSD-2-Clause
// Where events were lost.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/intervals/timeline_slices.h"

namespace ktraced {

// A loss lasts until the next record of its CPU. Memory: as TimelineSlices, with the given limit.
class LossTimeline : public Analysis {
 public:
  static constexpr size_t kMaxSlices = 16384;

  explicit LossTimeline(size_t max_slices = kMaxSlices) : slices_(max_slices) {}

  void add_source(const Schema& schema, const NameTable& names) override;
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;
  // Call after the last record. Losses that have not ended last until `end_ns`.
  void finish(uint64_t end_ns);

  // One lane for each CPU: `count` events are missing, most of them of event `what`, an index into
  // events().
  [[nodiscard]] const TimelineSlices& slices() const { return slices_; }
  [[nodiscard]] const std::vector<std::string>& events() const { return events_; }

 private:
  struct OngoingLoss {
    uint64_t since = 0;
    std::map<uint32_t, uint64_t> counts;  // by index of events_
  };
  void end(uint32_t cpu, const OngoingLoss& ongoing, uint64_t ts);
  uint32_t index_of(const std::string& event);

  std::vector<const Schema*> sources_;
  TimelineSlices slices_;
  std::map<uint32_t, OngoingLoss> ongoing_;  // by CPU
  std::vector<std::string> events_;
};

}  // namespace ktraced
