// SPDX-License-Identifier: BSD-2-Clause
// From passes of packets to events in time order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "trace/merge.h"
#include "trace/packet.h"

namespace ktraced {

// Merges what the packets of a live stream bring. A packet of names ends a pass: its names are
// applied before the events of the pass are given out.
class PassMerger {
 public:
  // More than this is not held back for the sake of order: of a stream without names packets
  // events are given out in the order they come.
  static constexpr size_t kMaxPendingBytes = 256U << 20;

  // `sink` must outlive this. `on_name` takes each name record, `on_pass` is called when a pass is
  // whole, before its events are given out.
  PassMerger(MergeSink& sink, std::function<void(RecordView)> on_name,
             std::function<void()> on_pass = {})
      : sink_(sink), on_name_(std::move(on_name)), on_pass_(std::move(on_pass)) {}

  // Takes a packet of the stream; `owner` keeps its bytes.
  void take(const PacketView& packet, std::shared_ptr<const void> owner);
  // No more packets come.
  void finish() { merger_.release_all(sink_); }
  // Up to when everything has been given out; ns, CLOCK_BOOTTIME.
  [[nodiscard]] uint64_t whole_until() const { return whole_until_; }

 private:
  MergeSink& sink_;
  std::function<void(RecordView)> on_name_;
  std::function<void()> on_pass_;
  Merger merger_;
  uint64_t whole_until_ = 0;
};

}  // namespace ktraced
