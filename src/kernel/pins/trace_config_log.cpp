// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/pins/trace_config_log.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>

namespace ktraced {

// Positions count bytes since the log began; one lies at data[position % capacity].
struct TraceConfigLog::Header {
  uint64_t magic;
  uint64_t head;  // end of the newest entry
  uint64_t tail;  // the oldest entry
  uint64_t known_since_ns;
  uint64_t changing_since_ns;  // 0: no change in progress
  uint64_t next_sequence;      // of the entry at head
};

// Header of an entry; the text follows.
struct TraceConfigLog::EntryHeader {
  uint64_t ns;
  uint64_t sequence;  // one more than that of the entry before
  uint32_t bytes;     // of the text; 0: the config did not fit
  uint32_t checksum;  // of everything else in the entry
};

namespace {

constexpr uint64_t kMagic = 0x31474c4746434b54;  // "TKCFGLG1"
constexpr size_t kHeaderBytes = 4096;

// FNV-1a; finds torn entries, not forged ones.
uint32_t checksum_of(uint64_t ns, uint64_t sequence, std::string_view text) {
  uint32_t hash = 0x811c9dc5;
  auto add = [&hash](std::span<const std::byte> bytes) {
    for (const std::byte b : bytes) hash = (hash ^ static_cast<uint32_t>(b)) * 0x01000193;
  };
  add(std::as_bytes(std::span(&ns, 1)));
  add(std::as_bytes(std::span(&sequence, 1)));
  add(std::as_bytes(std::span(text)));
  return hash;
}

void store(uint64_t& value, uint64_t now) {
  std::atomic_ref(value).store(now, std::memory_order_release);
}

std::unexpected<Error> damaged() {
  return fail(ExitCode::data, "the log of trace configs is damaged");
}

}  // namespace

TraceConfigLog::Header& TraceConfigLog::header() const {
  return *reinterpret_cast<Header*>(memory_.data());
}

size_t TraceConfigLog::capacity() const { return memory_.size() - kHeaderBytes; }

void TraceConfigLog::copy_in(uint64_t position, const void* from, size_t bytes) const {
  if (bytes == 0) return;  // `from` may be null
  std::byte* const data = memory_.data() + kHeaderBytes;
  const size_t at = position % capacity(), first = std::min(bytes, capacity() - at);
  std::memcpy(data + at, from, first);
  std::memcpy(data, static_cast<const std::byte*>(from) + first, bytes - first);
}

void TraceConfigLog::copy_out(uint64_t position, void* to, size_t bytes) const {
  const std::byte* const data = memory_.data() + kHeaderBytes;
  const size_t at = position % capacity(), first = std::min(bytes, capacity() - at);
  std::memcpy(to, data + at, first);
  std::memcpy(static_cast<std::byte*>(to) + first, data, bytes - first);
}

Result<TraceConfigLog::EntryHeader> TraceConfigLog::header_at(uint64_t position,
                                                              uint64_t head) const {
  EntryHeader entry{};
  if (position > head || head - position < sizeof(entry)) return damaged();
  copy_out(position, &entry, sizeof(entry));
  if (entry.bytes > head - position - sizeof(entry)) return damaged();
  return entry;
}

Result<TraceConfigLog::Entry> TraceConfigLog::read_entry(uint64_t position,
                                                         const EntryHeader& entry) const {
  std::string text(entry.bytes, '\0');
  copy_out(position + sizeof(entry), text.data(), text.size());
  if (checksum_of(entry.ns, entry.sequence, text) != entry.checksum) return damaged();
  if (text.empty()) return Entry{.ns = entry.ns, .config = nullptr};
  auto config = nlohmann::json::parse(text, nullptr, false);
  if (!config.is_object()) return damaged();
  return Entry{.ns = entry.ns, .config = std::move(config)};
}

Result<TraceConfigLog::Content> TraceConfigLog::read() const {
  const Header& log = header();
  if (log.magic != kMagic || log.tail > log.head || log.head - log.tail > capacity())
    return damaged();
  if (log.changing_since_ns != 0)
    return fail(ExitCode::data, "an earlier daemon ended while it changed the trace config");
  Content content{.entries = {}, .known_since_ns = log.known_since_ns};
  uint64_t sequence = 0;
  for (uint64_t position = log.tail; position != log.head;) {
    auto raw = header_at(position, log.head);
    if (!raw) return propagate(raw);
    auto entry = read_entry(position, *raw);
    const bool follows = content.entries.empty() ||
                         (raw->sequence == sequence + 1 && raw->ns >= content.entries.back().ns);
    if (!entry || !follows) return damaged();
    sequence = raw->sequence;
    position += sizeof(*raw) + raw->bytes;
    content.entries.push_back(std::move(*entry));
  }
  if (content.entries.empty() || sequence + 1 != log.next_sequence) return damaged();
  // Everything before the entry that follows the last one without a config is unknown.
  const auto gap = std::ranges::find_if(content.entries.rbegin(), content.entries.rend(),
                                        [](const Entry& entry) { return entry.config.is_null(); });
  const bool has_gap = gap != content.entries.rend();
  content.entries.erase(content.entries.begin(), gap.base());
  if (content.entries.empty()) return damaged();
  if (has_gap)
    content.known_since_ns = std::max(content.known_since_ns, content.entries.front().ns);
  return content;
}

void TraceConfigLog::clear(uint64_t known_since_ns) {
  Header& log = header();
  store(log.magic, 0);
  log.head = log.tail = log.changing_since_ns = log.next_sequence = 0;
  log.known_since_ns = known_since_ns;
  store(log.magic, kMagic);
}

// Evicts the oldest entries.
void TraceConfigLog::make_room(uint64_t ns, size_t bytes) {
  Header& log = header();
  while (log.head + bytes - log.tail > capacity()) {
    const auto oldest = header_at(log.tail, log.head);
    if (!oldest) return clear(ns);
    const uint64_t tail = log.tail + sizeof(*oldest) + oldest->bytes;
    const auto next = tail < log.head ? header_at(tail, log.head) : damaged();
    // Do this first: a daemon that ends here leaves a log with less than the truth, never more.
    store(log.known_since_ns, next ? next->ns : ns);
    store(log.tail, tail);
  }
}

void TraceConfigLog::append(uint64_t ns, std::string_view config) {
  if (sizeof(EntryHeader) + config.size() > capacity()) config = {};
  const size_t bytes = sizeof(EntryHeader) + config.size();
  make_room(ns, bytes);
  Header& log = header();
  const EntryHeader entry{.ns = ns,
                          .sequence = log.next_sequence,
                          .bytes = static_cast<uint32_t>(config.size()),
                          .checksum = checksum_of(ns, log.next_sequence, config)};
  copy_in(log.head, &entry, sizeof(entry));
  copy_in(log.head + sizeof(entry), config.data(), config.size());
  store(log.next_sequence, log.next_sequence + 1);
  store(log.head, log.head + bytes);
}

void TraceConfigLog::begin_change(uint64_t ns) { store(header().changing_since_ns, ns); }

void TraceConfigLog::end_change() { store(header().changing_since_ns, 0); }

}  // namespace ktraced
