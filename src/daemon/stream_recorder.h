// SPDX-License-Identifier: BSD-2-Clause
// The daemon's own recording of the stream: the files of "stream.output".
#pragma once

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "daemon/config.h"
#include "daemon/failure_barrier.h"
#include "daemon/output_queue.h"
#include "daemon/trace_series.h"
#include "trace/packet.h"

namespace ktraced {

// Writes the stream into trace directories, on a thread of its own: the drain thread hands
// packets over and never waits for the disk. While the disk fails packets wait, then they are
// lost, and the trace tells which; when it is well again the writing goes on.
class StreamRecorder {
 public:
  explicit StreamRecorder(TraceFacts facts);
  StreamRecorder(const StreamRecorder&) = delete;
  StreamRecorder& operator=(const StreamRecorder&) = delete;
  ~StreamRecorder();

  // Begins, goes on with other settings, or ends: from or up to the passes published now. Begins
  // with everything that happens from now on, if the next pass has it. Main thread.
  void apply(const std::optional<StreamOutput>& settings);
  // One whole pass. Drain thread.
  void publish(std::span<const PacketBytes> pass);
  // Something else is traced from now on. Main thread.
  void note_change(const InForce& in_force);
  // Writes what is waiting and finishes the trace, or says why that is not possible. The facts
  // are not asked for any more then. Main thread.
  void finish();

  // For `status`: what there is to say about the output. Main thread.
  [[nodiscard]] nlohmann::json status() const;

 private:
  // What the writer says about itself.
  struct Progress {
    std::string trace;       // being written; empty: none
    std::string last_trace;  // written before it
    uint64_t bytes = 0;      // of it
    size_t files = 0;
    uint64_t lost_events = 0;  // other than by the queue
    bool failing = false;
    std::string last_error;
  };

  void run();
  Result<> carry_out(OutputStep& step);
  void note_failed_step(const Error& error);
  void write(const PacketBytes& packet);
  void finish_or_give_up();
  // Calls `work` until it is done; false if the series ends before.
  bool persist(const std::function<Result<>()>& work);
  void end_series();
  void abandon(std::string_view why);
  void show_progress();
  void show_failure(const Result<>& result);
  [[nodiscard]] bool missed_are_due(std::span<const PacketBytes> pass) const;

  TraceFacts facts_;
  OutputQueue queue_;
  std::optional<StreamOutput> settings_;  // main thread
  uint64_t missed_read_ns_ = 0;           // drain thread
  std::unique_ptr<TraceSeries> series_;   // writer thread
  bool running_ = true;                   // writer thread
  uint64_t abandoned_events_ = 0;         // writer thread
  uint64_t lost_before_failure_ = 0;      // writer thread
  mutable std::mutex mutex_;
  Progress progress_;  // guarded by mutex_
  FailureBarrier barrier_{"the output thread"};
  std::thread thread_;  // last: it uses the rest
};

}  // namespace ktraced
