// SPDX-License-Identifier: BSD-2-Clause
// Removes records that overlapping traces share.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/merge/merge.h"

namespace ktraced {

// A sink in front of another. Traces of the same time, e.g. a recording and a snapshot, contain the
// same records; in the merged history each event must occur once. Two records are the same event if
// they come from different sources and are equal in CPU and every byte, time included.
class Deduplicator : public MergeSink {
 public:
  // Sets the sink that gets the remaining records. Call it before the first record.
  void set_next(MergeSink& next) { next_ = &next; }

  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override { next_->on_loss(loss); }
  void on_stack(const RecordOrigin& from, RecordView record) override {
    next_->on_stack(from, record);
  }
  // Removed records.
  [[nodiscard]] uint64_t repeated() const { return repeated_; }

 private:
  // A record that was forwarded.
  struct Forwarded {
    RecordOrigin from;
    size_t offset;  // of its bytes
    size_t size;
    std::vector<uint32_t> repeats;  // other sources that contained it
  };
  [[nodiscard]] Forwarded* original_of(const RecordOrigin& from, RecordView record);

  MergeSink* next_ = nullptr;
  uint64_t ts_ = 0;
  std::vector<Forwarded> forwarded_;  // all with time ts_
  std::vector<std::byte> bytes_;
  uint64_t repeated_ = 0;
};

}  // namespace ktraced
