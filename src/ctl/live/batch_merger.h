// SPDX-License-Identifier: BSD-2-Clause
// Merges batches of packets into events in time order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "trace/merge/merge.h"
#include "trace/packet/packet.h"

namespace ktraced {

// Merges the packets of a live stream. A metadata packet ends a batch. Its names are applied before
// the events of the batch are given out.
class BatchMerger {
 public:
  // The limit of the reorder window. If a stream has no metadata packets, events beyond it are
  // given out in the order they come.
  static constexpr size_t kMaxPendingBytes = 256U << 20;

  // `sink` must outlive this. `on_name` gets each metadata record. `on_batch` is called when a
  // batch is complete, before its events are given out.
  BatchMerger(MergeSink& sink, std::function<void(RecordView)> on_name,
              std::function<void()> on_batch = {})
      : sink_(sink), on_name_(std::move(on_name)), on_batch_(std::move(on_batch)) {}

  // Adds a packet of the stream; `owner` keeps its bytes alive.
  void take(const PacketView& packet, std::shared_ptr<const void> owner);
  // No more packets come.
  void finish() { merger_.release_all(sink_); }
  // Everything up to this time has been given out; ns, CLOCK_BOOTTIME.
  [[nodiscard]] uint64_t whole_until() const { return whole_until_; }

 private:
  MergeSink& sink_;
  std::function<void(RecordView)> on_name_;
  std::function<void()> on_batch_;
  Merger merger_;
  uint64_t whole_until_ = 0;
};

}  // namespace ktraced
