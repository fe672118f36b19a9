// SPDX-License-Identifier: BSD-2-Clause
// The consumer's side of a BPF ring buffer.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "base/fd.h"
#include "base/mapping.h"

namespace ktraced {

// Reads a BPF_MAP_TYPE_RINGBUF map through its mapping. Unlike libbpf's manager it separates
// reading from releasing the space, and exposes the positions. Both are needed to find where in the
// ring records were lost (see Drain).
//
// Layout (kernel/bpf/ringbuf.c): a writable page with the consumer position, a
// read-only page with the producer position, then the data, mapped twice in a row
// so that a record never wraps. Positions are bytes since the ring was made.
class RingReader {
 public:
  // Takes the map's descriptor and its size in bytes. Fails with ExitCode::os.
  static Result<RingReader> open(Fd map, size_t size);

  [[nodiscard]] int map_fd() const { return map_.get(); }
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] uint64_t consumed() const {
    return position(consumer_).load(std::memory_order_acquire);
  }
  [[nodiscard]] uint64_t produced() const {
    return position(producer_).load(std::memory_order_acquire);
  }

  // Calls visit(position, record bytes) for the finished records from `from` up to `until`, and
  // returns where it stopped: at `until`, or at a record that is still being written. The bytes
  // stay valid until release() of their position.
  template <class Visit>
  uint64_t read(uint64_t from, uint64_t until, Visit&& visit) const {
    uint64_t at = from;
    while (at < until) {
      const std::byte* header = data() + (at & (size_ - 1));
      uint32_t length = length_word(header).load(std::memory_order_acquire);
      if ((length & kBusy) != 0) break;
      uint32_t size = length & ~(kBusy | kDiscarded);
      if ((length & kDiscarded) == 0)
        visit(at, std::span<const std::byte>(header + kHeaderBytes, size));
      at += (size + kHeaderBytes + 7) & ~uint64_t{7};
    }
    return at;
  }

  // Releases everything before `to` to the producers.
  void release(uint64_t to) { position(consumer_).store(to, std::memory_order_release); }

 private:
  static constexpr uint32_t kBusy = 1U << 31;
  static constexpr uint32_t kDiscarded = 1U << 30;
  static constexpr uint64_t kHeaderBytes = 8;

  RingReader(Fd map, size_t size, size_t page) : map_(std::move(map)), size_(size), page_(page) {}
  [[nodiscard]] const std::byte* data() const { return producer_.data() + page_; }
  static std::atomic_ref<uint64_t> position(const Mapping& mapping) {
    return std::atomic_ref(*reinterpret_cast<uint64_t*>(mapping.data()));
  }
  static std::atomic_ref<uint32_t> length_word(const std::byte* header) {
    return std::atomic_ref(*reinterpret_cast<uint32_t*>(const_cast<std::byte*>(header)));
  }

  Fd map_;
  size_t size_;
  size_t page_;
  Mapping consumer_;
  Mapping producer_;
};

}  // namespace ktraced
