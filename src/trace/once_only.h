// SPDX-License-Identifier: BSD-2-Clause
// Lets pass once what several traces have in common.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/merge.h"

namespace ktraced {

// A sink in front of another. Traces of the same time, say a recording and a snapshot, hold
// the same records: in one history each of them has happened once. Two records are the same
// event if they come from different sources and are equal in CPU and every byte, time
// included.
class OnceOnly : public MergeSink {
 public:
  // From now on `next` gets what passes; to be called before anything comes.
  void pass_to(MergeSink& next) { next_ = &next; }

  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override { next_->on_loss(loss); }
  // Records kept back.
  [[nodiscard]] uint64_t repeated() const { return repeated_; }

 private:
  // A record that passed.
  struct Passed {
    RecordOrigin from;
    size_t offset;  // of its bytes
    size_t size;
    std::vector<uint32_t> repeats;  // other sources that had it too
  };
  [[nodiscard]] Passed* original_of(const RecordOrigin& from, RecordView record);

  MergeSink* next_ = nullptr;
  uint64_t ts_ = 0;
  std::vector<Passed> passed_;  // all of time ts_
  std::vector<std::byte> bytes_;
  uint64_t repeated_ = 0;
};

}  // namespace ktraced
