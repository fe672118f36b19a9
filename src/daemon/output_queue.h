// SPDX-License-Identifier: BSD-2-Clause
// What is on its way from the rings to the stream's files.
//
// The drain thread puts passes in, the writer takes packets out. The drain never waits: when
// the disk is too slow, whole packets are dropped, and the next packet tells what was lost.
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

#include "daemon/config.h"
#include "daemon/missed_hits.h"
#include "daemon/subscriber_queue.h"

namespace ktraced {

// What is traced: see Tracer::in_force().
using InForce = std::shared_ptr<const nlohmann::json>;

// The writer is to begin a series of traces. Everything from `begin_ns` on will come
// (ns, CLOCK_BOOTTIME); `missed` are the hits skipped until then, `names` those known then (name
// records), also of threads that may end before anybody else could ask.
struct BeginSeries {
  StreamOutput settings;
  uint64_t begin_ns = 0;
  HitCounts missed;
  InForce in_force;
  std::vector<std::byte> names;
  uint64_t follow_lost = 0;  // processes that could not be followed until then
};
// Something else is traced from `ns` on (CLOCK_BOOTTIME).
struct Change {
  uint64_t ns = 0;
  InForce in_force;
};
// The trace is large enough: the next packet belongs to another one.
struct CutTrace {};
// The series goes on in another directory.
struct MoveSeries {
  std::filesystem::path directory;
};
// The series ends here.
struct EndSeries {};
// No more will come, ever.
struct NoMore {};

// What the writer has to do next.
using OutputStep = std::variant<PacketBytes, BeginSeries, MissedReading, Change, CutTrace,
                                MoveSeries, EndSeries, NoMore>;

// Thread-safe.
class OutputQueue {
 public:
  explicit OutputQueue(size_t event_bytes_max = 64U << 20, size_t name_bytes_max = 16U << 20)
      : packets_(event_bytes_max, name_bytes_max) {}

  // From now on passes are taken; before a begin() and after an end() they are not.
  void begin(BeginSeries series);
  void end();
  // Another directory, size or number of traces, for a series that goes on.
  void change(const StreamOutput& settings);
  // Ends the series, if any, and all waiting.
  void close();

  // A trace begins with so many bytes, on disk, of what the one before knew.
  void set_carried(uint64_t bytes);

  // Are passes taken, and would push(pass) cut the trace?
  [[nodiscard]] bool open() const;
  [[nodiscard]] bool cuts(std::span<const PacketBytes> pass) const;

  // Queues a whole pass; cuts the trace before it if it would become too large.
  void push(std::span<const PacketBytes> pass);
  // Not before its time, but before a pass that promises more.
  void push(Change change);
  // After the passes that were complete when it was read.
  void push(MissedReading reading);

  // The next step; waits for it.
  OutputStep next();
  // Waits until `limit` has passed; true, and at once, if the series is to end or to move.
  bool wait_for_end(std::chrono::milliseconds limit);
  // What was dropped by discard().
  struct Discarded {
    uint64_t records = 0;
    uint64_t until_ns = 0;  // the time up to which they were all
  };
  // Drops all packets up to where the series ends or moves.
  Discarded discard();

  // Names did not find room since the last call.
  bool names_lost();
  // Trace directories that may be kept.
  [[nodiscard]] uint32_t max_files() const;
  // Events dropped here so far, and bytes waiting.
  [[nodiscard]] uint64_t lost_events() const;
  [[nodiscard]] size_t queued_bytes() const;

 private:
  struct PassBytes {
    size_t events = 0, names = 0;  // of packets
    size_t name_text = 0;          // what becomes of the latter
  };
  static PassBytes bytes_of(std::span<const PublishedPacket> pass);
  // A step other than a packet, and how many packets come before it.
  struct Mark {
    uint64_t position;
    OutputStep step;
  };
  void mark(OutputStep step);
  void set_limits(const StreamOutput& settings);
  [[nodiscard]] bool too_large_with(const PassBytes& bytes) const;
  void cut();
  void end_series();

  mutable std::mutex mutex_;  // guards the rest
  std::condition_variable news_;
  SubscriberQueue packets_;
  std::deque<Mark> marks_;
  bool open_ = false;  // passes are taken
  std::filesystem::path directory_;
  uint64_t trace_bytes_ = 0;  // queued since the trace began
  uint64_t trace_bytes_max_ = 0;
  uint64_t carried_bytes_ = 0;
  uint32_t max_files_ = 1;
  bool names_lost_ = false;
};

}  // namespace ktraced
