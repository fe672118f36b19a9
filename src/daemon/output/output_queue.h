// SPDX-License-Identifier: BSD-2-Clause
// The packets between the rings and the stream's files.
//
// The drain thread puts batches in, the writer takes packets out. The drain never waits. When the
// disk is too slow, whole packets are dropped, and the next packet reports the loss.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <variant>

#include "daemon/capture/missed_hits.h"
#include "daemon/config/config.h"
#include "daemon/output/subscriber_queue.h"

namespace ktraced {

// The trace config: see TraceMetadata::current_config().
using SharedConfig = std::shared_ptr<const nlohmann::json>;

// Starts a series of traces, with every record from `begin_ns` on (ns, CLOCK_BOOTTIME). `missed`
// are the hits missed until then. `names` are metadata records with the
// names known then, including threads that may end before names could be requested again.
struct BeginSeries {
  StreamOutput settings;
  uint64_t begin_ns = 0;
  HitCounts missed;
  SharedConfig current_config;
  std::vector<std::byte> names;
  uint64_t follow_lost = 0;         // processes that could not be followed until then
  uint64_t account_generation = 0;  // of StreamAccount, whose begin() came before
};
// A config change at `ns` (CLOCK_BOOTTIME).
struct Change {
  uint64_t ns = 0;
  SharedConfig current_config;
};
// Rotation: the trace is large enough, and the next packet belongs to the next trace.
struct RotateTrace {};
// The series continues in another directory.
struct MoveSeries {
  std::filesystem::path directory;
};
// The series ends here.
struct EndSeries {};
// The queue is closed: no more steps follow.
struct NoMore {};

// The writer's next step.
using OutputStep = std::variant<PacketBytes, BeginSeries, MissedReading, Change, RotateTrace,
                                MoveSeries, EndSeries, NoMore>;

// Thread-safe.
class OutputQueue {
 public:
  explicit OutputQueue(size_t event_bytes_max = 64U << 20, size_t name_bytes_max = 16U << 20)
      : packets_(event_bytes_max, name_bytes_max) {}

  // Accepts batches from now on. Before begin() and after end() batches are rejected.
  void begin(BeginSeries series);
  void end();
  // Changes the directory, size or number of traces of a running series.
  void change(const StreamOutput& settings);
  // Ends the series, if any, and wakes all waiting threads.
  void close();

  // Ends the trace here: the next batch begins another.
  void end_trace();

  // Sets the size on disk of the metadata that a trace inherits from the one before.
  void set_carried(uint64_t bytes);

  // True if batches are accepted, and for rotates(), if pushing this batch would rotate the trace.
  [[nodiscard]] bool open() const;
  [[nodiscard]] bool rotates(std::span<const PacketBytes> batch) const;

  // Queues a whole batch. Rotates the trace first if it would become too large.
  enum class Pushed {
    no_series,
    without_names,  // there was no room for them
    whole,
  };
  Pushed push(std::span<const PacketBytes> batch);
  // The writer gets the change when its time has come, before a batch with a later watermark.
  void push(Change change);
  // The writer gets the reading after the batches that were complete when it was taken.
  void push(MissedReading reading);

  // Waits for the next step and returns it.
  OutputStep next();
  // Waits until `limit` has passed. Returns true at once if the series is to end or to move.
  bool wait_for_end(std::chrono::milliseconds limit);
  // What discard() has dropped.
  struct Discarded {
    uint64_t records = 0;
    uint64_t until_ns = 0;  // the watermark of the dropped packets
  };
  // Drops all packets up to where the series ends or moves.
  Discarded discard();

  // True if metadata that is not names found no room since the last call.
  [[nodiscard]] bool overflown();
  // True if, since the last call, events were dropped or another trace has begun: what follows may
  // lack the stacks that were written before.
  [[nodiscard]] bool lacks_stacks();

  // The number of trace directories to keep.
  [[nodiscard]] uint32_t max_files() const;
  // Events dropped here so far, and bytes in the queue.
  [[nodiscard]] uint64_t lost_events() const;
  [[nodiscard]] size_t queued_bytes() const;

 private:
  struct BatchBytes {
    size_t events = 0, names = 0;  // of packets
    size_t name_text = 0;          // written size of the metadata
  };
  static BatchBytes bytes_of(std::span<const PacketBytes> batch);
  // A step other than a packet, and how many packets come before it.
  struct Mark {
    uint64_t position;
    OutputStep step;
  };
  void mark(OutputStep step);
  void set_limits(const StreamOutput& settings);
  [[nodiscard]] bool too_large_with(const BatchBytes& bytes) const;
  void rotate();
  void end_series();

  mutable std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  SubscriberQueue packets_;
  std::deque<Mark> marks_;
  bool open_ = false;       // batches are accepted
  bool overflown_ = false;  // not reported yet
  bool lacks_stacks_ = false;
  std::filesystem::path directory_;
  uint64_t trace_bytes_ = 0;  // queued since the trace began
  uint64_t trace_bytes_max_ = 0;
  uint64_t carried_bytes_ = 0;
  uint32_t max_files_ = 1;
};

}  // namespace ktraced
