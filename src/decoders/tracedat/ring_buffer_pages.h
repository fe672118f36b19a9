// SPDX-License-Identifier: BSD-2-Clause
// Pages of the kernel's ring buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ktraced {

// Packs the events of one CPU into pages, in the layout that the kernel's tracer writes and
// events/header_page and events/header_event describe.
class RingBufferPages {
 public:
  static constexpr size_t kPageBytes = 64U << 10;
  static constexpr size_t kHeaderBytes = 16;  // time of the first event, bytes of events and flags
  // Longest event that fits beside the count of lost events: any other event is refused.
  static constexpr size_t kMaxEvent = kPageBytes - kHeaderBytes - 16 - 8;

  // `ts` in ns. `event`: at most kMaxEvent bytes.
  void add(uint64_t ts, std::string_view event);
  // `count` events are missing before the next event.
  void lose(uint64_t count) { lost_ += count; }
  // Are events missing after the last one?
  [[nodiscard]] bool ends_with_loss() const { return lost_ != 0; }
  // Completes the last page.
  void finish();

  // The complete pages; the caller takes and clears them.
  [[nodiscard]] std::string& out() { return out_; }

 private:
  [[nodiscard]] bool fits(uint64_t ts, size_t bytes) const;
  void begin_page(uint64_t ts);

  std::string out_;
  std::string page_;          // events of the page being filled, without its header
  uint64_t page_ts_ = 0;      // time of its first event
  uint64_t last_ts_ = 0;      // of the last event
  uint64_t lost_ = 0;         // since the last event
  uint64_t lost_before_ = 0;  // before the page being filled
};

}  // namespace ktraced
