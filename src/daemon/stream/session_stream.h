// SPDX-License-Identifier: BSD-2-Clause
// The stream of one session: from its rings to packets.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "daemon/stream/name_follower.h"
#include "kernel/rings/counters.h"
#include "kernel/rings/stream_account.h"
#include "kernel/rings/stream_rings.h"
#include "trace/packet/packet_builder.h"

namespace ktraced {

// Empties the rings in batches. A batch is event packets followed by one metadata packet. The
// timestamp_end of the metadata packet is the watermark: everything before it has been sent. If one
// packet cannot hold the metadata, batches without events come before.
// Belongs to the drain thread, except for the functions marked otherwise.
class SessionStream {
 public:
  // `last`: the stream ends with this batch. False: there is no room for its names, and the time in
  // which they changed will be reported as lost.
  using Publish = std::function<bool(std::span<const PacketBytes> batch, bool last)>;

  struct Options {
    Uuid uuid{};
    StreamAccount* account = nullptr;  // of stream.output; other sessions have none
    Publish publish;                   // called in the drain thread
  };
  // Everything referred to must outlive this.
  SessionStream(StreamRings rings, Counters& counters, Options options);

  // Begins with empty rings. Nothing is read before the first request(), because the reader may not
  // be registered yet.
  void begin();
  // Begins with what an earlier daemon left unread, and with its losses.
  void resume(const LostByCpu& lost_before);

  // Requests a batch whose watermark is now. Any thread.
  void request();
  // True if it has a reader. Any thread.
  [[nodiscard]] bool flowing() const { return flowing_.load(); }
  // True if a batch was requested and not published yet.
  [[nodiscard]] bool requested() const { return watermark_ < requested_.load(); }

  // Adds metadata records, which the next batch will have. If names are lost, it will say so.
  void add_names(std::span<const std::byte> records);
  void add_names(const NameChanges& changes);
  // Since when its reader lacks names; nothing: it has all, or cannot get them yet. ns,
  // CLOCK_BOOTTIME.
  [[nodiscard]] std::optional<uint64_t> behind_since() const {
    return flowing() ? behind_since_ : std::nullopt;
  }
  // `records`: as of NameFollower::last_since() of that time or an earlier one.
  void catch_up(std::span<const std::byte> records);
  // Publishes metadata records at once, without advancing the watermark.
  void announce(std::span<const std::byte> records);
  // Publishes a batch of everything up to `until`. All records up to `watermark` have then been
  // published. With `last`, no other batch follows. If it fails, the records it has read stay in
  // the packet builders; readers detect lost packets by their sequence numbers.
  void publish(uint64_t until, uint64_t watermark, bool last = false);
  [[nodiscard]] uint64_t watermark() const { return watermark_; }

  Result<> add_cpu(uint32_t cpu) { return rings_.add_cpu(cpu); }
  // Gives the stream rings of this size, in bytes. What the old ones hold is not lost. Fails as
  // StreamRings::resize().
  Result<> resize(size_t ring_bytes);
  // Empties the rings and reports the records as lost. Returns their number.
  uint64_t discard();
  // Records that reached the ring so late that their time had to be changed.
  [[nodiscard]] uint64_t late_records() const;

  // Only the drain thread changes the rings; their positions may be read by any thread.
  [[nodiscard]] StreamRings& rings() { return rings_; }
  [[nodiscard]] const StreamRings& rings() const { return rings_; }

 private:
  struct Cpu {
    Cpu(const Uuid& uuid, Counters& counters, uint32_t session, uint32_t cpu, uint64_t start)
        : number(cpu), builder(uuid, cpu, start), losses(counters, session, cpu) {}
    uint32_t number;
    PacketBuilder builder;
    LossTracker losses;
    // Losses not yet reported, each with the ring position where it happened.
    std::deque<std::pair<uint64_t, std::vector<Lost>>> pending;
  };

  void fall_behind(uint64_t since);
  void lose_names(const LostNamesWindow& window);
  void note_names_taken(bool taken, uint64_t now);
  void make_cpus(uint64_t start);
  void drain_cpu(StreamRing& ring, Cpu& cpu);
  void release(StreamRing& ring, uint32_t cpu, uint64_t to);
  uint64_t take_step(StreamRing& ring, Cpu& cpu, uint64_t from, uint64_t until);
  void note_losses(const StreamRing& ring, Cpu& cpu);
  static void report_losses(Cpu& cpu, uint64_t position);

  StreamRings rings_;
  Counters& counters_;
  Options options_;
  std::vector<Cpu> cpus_;                      // by number
  std::vector<std::byte> names_;               // for the next batch
  std::optional<LostNamesWindow> lost_names_;  // to be reported in the next batch
  std::optional<uint64_t> behind_since_;
  std::optional<uint64_t> caught_up_from_;  // in the next batch
  uint64_t names_taken_ns_ = 0;             // the reader has the names until then
  std::unordered_set<size_t> sent_;  // hashes of names of caches and control groups of catch_up()
  uint64_t metadata_sequence_ = 0;
  uint64_t watermark_ = 0;  // timestamp_end of the last batch
  std::atomic<uint64_t> requested_{0};
  std::atomic<bool> flowing_{false};
};

}  // namespace ktraced
