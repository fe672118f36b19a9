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
#include "daemon/failure_barrier.h"
#include "kernel/counters.h"
#include "kernel/stream_rings.h"
#include "trace/packet_builder.h"

namespace ktraced {

// Empties the stream rings in passes: when a ring reaches its watermark, when the
// latency limit has passed, or on request. A pass is packets of events and, last, one
// packet of names, whose timestamp_end promises that everything before it has been sent.
//
// The thread blocks without a timer while nobody listens.
class Drain {
 public:
  using Publish = std::function<void(std::span<const PacketBytes> pass)>;

  struct Options {
    Uuid uuid{};
    uint32_t max_latency_ms = 100;
    bool resume = false;  // the rings hold what an earlier daemon left unread: keep it
    std::function<std::vector<std::byte>()> all_names;  // for when name records were lost
  };

  // `publish` is called in the drain thread. Everything referred to must outlive this.
  // Fails with ExitCode::os.
  static Result<std::unique_ptr<Drain>> start(const BpfObject& object, Counters& counters,
                                              StreamRings& rings, const Options& options,
                                              Publish publish);
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;
  ~Drain();

  // The calls below may be made by one other thread at a time; all but request_pass()
  // return when the drain thread has carried them out, or throw what it has thrown.

  // Turns the stream path on in the kernel, with empty rings, or off, with a last pass that
  // promises everything up to now. After turning on, nothing is read before the first
  // request_pass(): the reader may still have to take its place.
  // With `leave_on` the programs go on writing for whoever comes next: what is not in the last
  // pass stays in the rings.
  void set_streaming(bool on, bool leave_on = false);
  // Publishes a pass that promises everything up to now, and returns then.
  void flush();
  // Publishes name records at once, before anything that the programs write after this returns.
  // They are lost if nobody listens.
  void tell(std::span<const std::byte> names);
  // Asks for a pass that promises everything up to now.
  void request_pass();
  void set_max_latency(uint32_t milliseconds);
  Result<> add_cpu(uint32_t cpu);
  Result<> resize(size_t ring_bytes);
  // Records that an earlier daemon left unread wait for set_streaming().
  [[nodiscard]] bool has_backlog();
  // They are not published.
  void discard_backlog();
  // Empties the rings; the stream is told of the records as lost. Returns their number.
  uint64_t discard();

  // Records that reached the ring so late that their time had to be changed.
  [[nodiscard]] uint64_t late_records();

 private:
  struct Cpu {
    Cpu(const Uuid& uuid, Counters& counters, uint32_t cpu, uint64_t start)
        : builder(uuid, cpu, start), losses(counters, cpu) {}
    PacketBuilder builder;
    LossTracker losses;
    // Losses not yet passed on, each with the ring position where it happened.
    std::deque<std::pair<uint64_t, std::vector<Lost>>> pending;
  };

  Drain(const BpfObject& object, Counters& counters, StreamRings& rings, const Options& options,
        Publish publish);
  Result<> open();
  void run();
  void carry_out_requests();
  void call(const std::function<void()>& task);
  Result<> watch_rings();

  void make_cpus(uint64_t start);
  void begin_stream();
  void empty_rings();
  // With the records up to `until`; promises that none up to `promise` is missing.
  void pass(uint64_t until, uint64_t promise);
  void drain_cpu(RingReader& ring, Cpu& cpu);
  static uint64_t take_step(RingReader& ring, Cpu& cpu, uint64_t from, uint64_t until);
  void note_losses(const RingReader& ring, Cpu& cpu);
  static void pass_on_losses(Cpu& cpu, uint64_t position);
  std::vector<std::byte> drain_names();

  Counters& counters_;
  struct control& control_;
  StreamRings& rings_;
  Uuid uuid_;
  Publish publish_;
  int names_map_;
  std::unique_ptr<RingReader> names_;
  std::vector<Cpu> cpus_;  // by number
  std::function<std::vector<std::byte>()> all_names_;
  uint64_t names_sequence_ = 0;
  uint64_t names_dropped_ = 0;
  uint64_t late_before_ = 0;
  bool streaming_ = false;
  bool resume_;
  int max_latency_ms_;
  uint64_t promised_ = 0;  // timestamp_end of the last pass
  std::atomic<uint64_t> wanted_{0};
  std::atomic<bool> flowing_{false};

  Fd epoll_;
  Fd wake_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::function<void()> task_;       // guarded by mutex_; empty: none waiting
  std::exception_ptr task_failure_;  // guarded by mutex_
  FailureBarrier barrier_{"the drain thread"};
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace ktraced
