// SPDX-License-Identifier: BSD-2-Clause
// The drain thread: reads the rings of all streams.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "daemon/runtime/failure_barrier.h"
#include "daemon/stream/name_follower.h"
#include "daemon/stream/session_stream.h"
#include "kernel/programs/bpf_object.h"

namespace ktraced {

// Publishes batches of each stream: when a ring reaches its wakeup threshold, when the latency
// limit has passed, or on request. A failure in one stream does not affect the others. The thread
// blocks without a timer while there is no reader.
class Drain {
 public:
  // Everything referred to must outlive this. Fails with ExitCode::os.
  static Result<std::unique_ptr<Drain>> start(const BpfObject& object, Counters& counters,
                                              const KernelNames& names, uint32_t max_latency_ms);
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;
  ~Drain();

  // One other thread at a time may call the functions below. All but request_batch() return when
  // the drain thread has completed them, or rethrow its exception. A session without a stream is no
  // error.

  // Adds the stream of a session, which begins now, or with `resume` where an earlier daemon has
  // ended, with its losses. Programs may write for it from now on. Fails with ExitCode::os.
  Result<> open(std::unique_ptr<SessionStream> stream, const LostByCpu* resume = nullptr);
  // Removes the stream of a session. No program may write for it any more. With `publish` it ends
  // with a batch whose watermark is now, and which has the metadata records `records`. With `leave`
  // the programs go on writing for the next daemon: what is not in the last batch stays in the
  // rings.
  enum class Last { nothing, publish, leave };
  void close(uint32_t session, Last last, std::span<const std::byte> records = {});
  // Publishes a batch whose watermark is now, then returns.
  void flush(uint32_t session);
  // Publishes metadata records at once to all, or to one, before any record that the programs write
  // after this returns. Without a reader they are lost.
  void announce(std::span<const std::byte> names);
  void announce(uint32_t session, std::span<const std::byte> names);
  // Requests a batch whose watermark is now.
  void request_batch(uint32_t session);
  void set_max_latency(uint32_t milliseconds);
  // Gives the drain thread real-time priority, or takes it. Fails as ktraced::set_realtime().
  [[nodiscard]] Result<> set_realtime(bool on);
  [[nodiscard]] bool realtime();
  // Runs a task in the drain thread.
  void call(const std::function<void()>& task);
  [[nodiscard]] uint32_t max_latency() const { return static_cast<uint32_t>(max_latency_ms_); }
  // Creates rings for a CPU in all streams.
  Result<> add_cpu(uint32_t cpu);
  Result<> resize(uint32_t session, size_t ring_bytes);
  // Empties the rings of a session and reports the records as lost. Returns their number.
  uint64_t discard(uint32_t session);

  // Records that reached a ring so late that their time had to be changed.
  [[nodiscard]] uint64_t late_records();
  // The rings of a session; null if it has none. Their positions may be read, until the next call.
  [[nodiscard]] const StreamRings* rings(uint32_t session) const;

 private:
  Drain(const BpfObject& object, Counters& counters, uint32_t max_latency_ms);
  Result<> start(const BpfObject& object, const KernelNames& names);
  void run();
  [[nodiscard]] int timeout() const;
  void carry_out_requests();
  void call(uint32_t session, const std::function<void(SessionStream& stream)>& task);
  Result<> watch(const SessionStream& stream);
  void collect_names();
  void catch_up();

  Counters& counters_;
  struct control& control_;
  std::unique_ptr<NameFollower> names_;
  std::unique_ptr<RingReader> wakeups_;  // of rings in the arena; its content does not matter
  uint64_t caught_up_ns_ = 0;            // time of the last catch_up()
  uint64_t late_before_ = 0;             // of streams that have ended
  int max_latency_ms_;
  // Streams by session. They change only while the other thread waits, so that it may read the
  // keys.
  std::map<uint32_t, std::unique_ptr<SessionStream>> streams_;

  Fd epoll_;
  Fd wake_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::function<void()> task_;       // guarded by mutex_; empty: no task is waiting
  std::exception_ptr task_failure_;  // guarded by mutex_
  FailureBarrier barrier_{"the drain thread"};
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace ktraced
