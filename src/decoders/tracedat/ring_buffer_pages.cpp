// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/tracedat/ring_buffer_pages.h"

#include "decoders/tracedat/native_bytes.h"

namespace ktraced {

namespace {

// An event begins with a word: 5 bits of type, 27 bits of time since the event before it.
constexpr uint32_t kTypeBits = 5, kDeltaBits = 27;
constexpr uint64_t kMaxDelta = (uint64_t{1} << kDeltaBits) - 1;
constexpr uint64_t kMaxExtendedDelta = (uint64_t{1} << (kDeltaBits + 32)) - 1;
constexpr uint32_t kTimeExtend = 30;    // a word with the upper bits of the time follows
constexpr uint32_t kLongEvent = 0;      // a word with the length follows
constexpr size_t kMaxShortEvent = 112;  // bytes; the type is their number of words
constexpr size_t kWord = sizeof(uint32_t);
// Flags beside the number of bytes in the header of a page.
constexpr uint64_t kMissedEvents = 1ULL << 31, kMissedStored = 1ULL << 30;

size_t whole_words(size_t bytes) { return (bytes + kWord - 1) / kWord * kWord; }

}  // namespace

bool RingBufferPages::fits(uint64_t ts, size_t bytes) const {
  if (page_.empty() || lost_ != 0) return false;
  if (ts < last_ts_ || ts - last_ts_ > kMaxExtendedDelta) return false;
  const size_t time = ts - last_ts_ > kMaxDelta ? 2 * kWord : 0;
  const size_t head = 2 * kWord;
  const size_t count = lost_before_ != 0 ? sizeof(uint64_t) : 0;
  return page_.size() + time + head + whole_words(bytes) + count <= kPageBytes - kHeaderBytes;
}

void RingBufferPages::add(uint64_t ts, std::string_view event) {
  if (event.size() > kMaxEvent) return;
  if (!fits(ts, event.size())) begin_page(ts);
  uint64_t delta = ts - last_ts_;
  if (delta > kMaxDelta) {
    append_native(kTimeExtend | static_cast<uint32_t>(delta & kMaxDelta) << kTypeBits, page_);
    append_native(static_cast<uint32_t>(delta >> kDeltaBits), page_);
    delta = 0;
  }
  const size_t bytes = whole_words(event.size());
  const bool is_short = bytes <= kMaxShortEvent && bytes != 0;
  const uint32_t type = is_short ? static_cast<uint32_t>(bytes / kWord) : kLongEvent;
  append_native(type | static_cast<uint32_t>(delta) << kTypeBits, page_);
  if (!is_short) append_native(static_cast<uint32_t>(bytes + kWord), page_);
  page_.append(event);
  page_.append(bytes - event.size(), '\0');
  last_ts_ = ts;
}

void RingBufferPages::begin_page(uint64_t ts) {
  finish();
  page_ts_ = last_ts_ = ts;
  lost_before_ = lost_;
  lost_ = 0;
}

void RingBufferPages::finish() {
  if (page_.empty()) return;
  const size_t begin = out_.size();
  append_native(page_ts_, out_);
  append_native(uint64_t{page_.size()} | (lost_before_ != 0 ? kMissedEvents | kMissedStored : 0),
                out_);
  out_ += page_;
  if (lost_before_ != 0) append_native(lost_before_, out_);
  out_.resize(begin + kPageBytes, '\0');
  page_.clear();
}

}  // namespace ktraced
