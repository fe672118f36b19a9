// SPDX-License-Identifier: BSD-2-Clause
// The daemon's own recording of the stream: the files of "stream.output".
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "daemon/config/config.h"
#include "daemon/output/output_queue.h"
#include "daemon/output/trace_series.h"
#include "daemon/runtime/failure_barrier.h"
#include "trace/packet/packet.h"

namespace ktraced {

// The state of the output.
struct OutputStatus {
  std::optional<StreamOutput> settings;  // nothing: the stream is not written
  std::string trace;                     // being written; empty: none
  std::string last_trace;                // written before; empty: none
  uint64_t bytes = 0;                    // of the trace being written
  size_t files = 0;
  size_t queued_bytes = 0;
  uint64_t lost_events = 0;
  bool failing = false;
  std::string last_error;  // empty: there was none
  OutputCounts counts;
};

// Writes the stream into trace directories in a separate thread. The drain thread hands packets
// over and never waits for the disk. While the disk fails, packets are queued and later dropped;
// the trace reports the losses. When the disk works again, writing continues.
class StreamRecorder {
 public:
  explicit StreamRecorder(TraceFacts facts);
  StreamRecorder(const StreamRecorder&) = delete;
  StreamRecorder& operator=(const StreamRecorder&) = delete;
  ~StreamRecorder();

  // Begins a recording, changes its settings, or ends it, at the current end of the published
  // batches. A new recording has everything that happens from now on, provided that it gets the
  // next batch. Main thread.
  void apply(const std::optional<StreamOutput>& settings);
  // Ends the trace being written: the next one has the addresses that readers may see now, and the
  // times of the clock as it is now. Main thread.
  void end_trace();
  // Gives the thread of the output real-time priority, or takes it. Fails as
  // ktraced::set_realtime(). Main thread.
  [[nodiscard]] Result<> set_realtime(bool on);
  // Adds one whole batch. False: its names do not fit, as SessionStream::Publish. Drain thread.
  bool publish(std::span<const PacketBytes> batch);
  // Records a config change at the current time. Main thread.
  void note_change(const SharedConfig& current_config);
  // Writes the queued packets and finishes the trace, or logs why that is not possible. Does not
  // use the facts afterwards. Main thread.
  void finish();

  // Main thread.
  [[nodiscard]] OutputStatus status() const;

 private:
  // The writer's state.
  struct Progress {
    std::string trace;       // being written; empty: none
    std::string last_trace;  // the trace written before
    uint64_t bytes = 0;      // of the trace being written
    size_t files = 0;
    uint64_t lost_events = 0;  // not counting those dropped by the queue
    bool failing = false;
    std::string last_error;
    OutputCounts counts;
  };

  void run();
  Result<> carry_out(OutputStep& step);
  void note_failed_step(const Error& error);
  void write(const PacketBytes& packet);
  void finish_or_give_up();
  // Repeats `work` until it succeeds; false if the series ends before.
  bool persist(const std::function<Result<>()>& work);
  void end_series();
  void abandon(std::string_view why);
  [[nodiscard]] OutputCounts counts() const;
  void show_progress();
  void show_failure(const Result<>& result);
  void renew_stacks();
  [[nodiscard]] bool missed_are_due(std::span<const PacketBytes> batch) const;

  TraceFacts facts_;
  OutputQueue queue_;
  std::optional<StreamOutput> settings_;  // main thread
  uint64_t missed_read_ns_ = 0;           // drain thread
  std::unique_ptr<TraceSeries> series_;   // writer thread
  bool running_ = true;                   // writer thread
  OutputCounts ended_;                    // of series that have ended; writer thread
  uint64_t write_errors_ = 0;             // writer thread
  uint64_t abandoned_events_ = 0;         // writer thread
  uint64_t lost_before_failure_ = 0;      // writer thread
  mutable std::mutex mutex_;
  Progress progress_;  // guarded by mutex_
  FailureBarrier barrier_{"the output thread"};
  std::thread thread_;  // last: it uses the rest
};

}  // namespace ktraced
