// SPDX-License-Identifier: BSD-2-Clause
// The drain thread: from the rings to packets.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "daemon/runtime/failure_barrier.h"
#include "kernel/rings/counters.h"
#include "kernel/rings/stream_account.h"
#include "kernel/rings/stream_rings.h"
#include "trace/packet/packet_builder.h"

namespace ktraced {

// Empties the stream rings in batches: when a ring reaches its wakeup threshold, when the latency
// limit has passed, or on request. A batch is event packets followed by one metadata packet. The
// timestamp_end of the metadata packet is the watermark: everything before it has been sent.
//
// The thread blocks without a timer while there is no reader.
class Drain {
 public:
  using Publish = std::function<void(std::span<const PacketBytes> batch)>;

  struct Options {
    Uuid uuid{};
    uint32_t max_latency_ms = 100;
    bool resume = false;  // keep what an earlier daemon left unread in the rings
    std::function<std::vector<std::byte>()> all_names;  // called when metadata records were lost
    LostByCpu lost_before;  // losses of the earlier daemon: reported first
  };

  // `publish` is called in the drain thread. Everything referred to must outlive this. Fails with
  // ExitCode::os.
  static Result<std::unique_ptr<Drain>> start(const BpfObject& object, Counters& counters,
                                              StreamRings& rings, StreamAccount& account,
                                              const Options& options, Publish publish);
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;
  ~Drain();

  // One other thread at a time may call the functions below. All but request_batch() return when
  // the drain thread has completed them, or rethrow its exception.

  // Turns the stream path in the kernel on, with empty rings, or off, with a last batch whose
  // watermark is now. After turning on, nothing is read before the first request_batch(), because
  // the reader may not be registered yet. With `leave_on` the programs keep writing for the next
  // daemon: what is not in the last batch stays in the rings.
  void set_streaming(bool on, bool leave_on = false);
  // Publishes a batch whose watermark is now, then returns.
  void flush();
  // Publishes metadata records at once, before any record that the programs write after this
  // returns. Without a reader they are lost.
  void announce(std::span<const std::byte> names);
  // Requests a batch whose watermark is now.
  void request_batch();
  void set_max_latency(uint32_t milliseconds);
  Result<> add_cpu(uint32_t cpu);
  Result<> resize(size_t ring_bytes);
  // True if records that an earlier daemon left unread wait for set_streaming().
  [[nodiscard]] bool has_backlog();
  // Discards those records without publishing them.
  void discard_backlog();
  // Empties the rings and reports the records as lost in the stream. Returns their number.
  uint64_t discard();

  // Records that reached the ring so late that their time had to be changed.
  [[nodiscard]] uint64_t late_records();

 private:
  struct Cpu {
    Cpu(const Uuid& uuid, Counters& counters, uint32_t cpu, uint64_t start)
        : number(cpu), builder(uuid, cpu, start), losses(counters, cpu) {}
    uint32_t number;
    PacketBuilder builder;
    LossTracker losses;
    // Losses not yet reported, each with the ring position where it happened.
    std::deque<std::pair<uint64_t, std::vector<Lost>>> pending;
  };

  Drain(const BpfObject& object, Counters& counters, StreamRings& rings, StreamAccount& account,
        const Options& options, Publish publish);
  Result<> open();
  void run();
  void carry_out_requests();
  void call(const std::function<void()>& task);
  Result<> watch_rings();

  void make_cpus(uint64_t start);
  void resume_cpus();
  void begin_stream();
  void begin_account(const LostByCpu& known_lost);
  void empty_rings();
  // Publishes the records up to `until`. All records up to `watermark` have then been sent.
  void run_batch(uint64_t until, uint64_t watermark);
  void drain_cpu(RingReader& ring, Cpu& cpu);
  void release(RingReader& ring, uint32_t cpu, uint64_t to);
  uint64_t take_step(RingReader& ring, Cpu& cpu, uint64_t from, uint64_t until);
  void note_losses(const RingReader& ring, Cpu& cpu);
  static void report_losses(Cpu& cpu, uint64_t position);
  std::vector<std::byte> drain_names();

  Counters& counters_;
  struct control& control_;
  StreamRings& rings_;
  StreamAccount& account_;
  LostByCpu lost_before_;
  Uuid uuid_;
  Publish publish_;
  int names_map_;
  std::unique_ptr<RingReader> names_;
  std::vector<Cpu> cpus_;  // by number
  std::function<std::vector<std::byte>()> all_names_;
  uint64_t metadata_sequence_ = 0;
  uint64_t names_dropped_ = 0;
  uint64_t late_before_ = 0;
  bool streaming_ = false;
  bool resume_;
  int max_latency_ms_;
  uint64_t watermark_ = 0;  // timestamp_end of the last batch
  std::atomic<uint64_t> requested_{0};
  std::atomic<bool> flowing_{false};

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
