// SPDX-License-Identifier: BSD-2-Clause
// History of the trace config, kept together with the flight recorder's history.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace ktraced {

// A bounded log of trace configs in memory that outlives the daemon: entries with their time, the
// oldest evicted when there is no room. A daemon may end between any two stores: an entry exists
// once the head is after it. Callers change the kernel between begin_change() and end_change(), so
// that a half-applied config is not taken for the trace config. Belongs to one thread.
class TraceConfigLog {
 public:
  struct Entry {
    uint64_t ns = 0;  // in effect from then on; CLOCK_BOOTTIME
    nlohmann::json config;
  };
  struct Content {
    std::vector<Entry> entries;   // the oldest first
    uint64_t known_since_ns = 0;  // the trace config before this is unknown; 0: all is known
  };

  // `memory` is all zero or written by an earlier daemon, and must outlive this.
  explicit TraceConfigLog(std::span<std::byte> memory) : memory_(memory) {}

  // Fails with ExitCode::data if the log is damaged, or if its last daemon ended during a change.
  [[nodiscard]] Result<Content> read() const;
  // Empties the log: the trace config before `known_since_ns` is unknown.
  void clear(uint64_t known_since_ns);

  // A config that does not fit even into an empty log leaves a gap up to the next one.
  void append(uint64_t ns, std::string_view config);
  void begin_change(uint64_t ns);
  void end_change();

 private:
  struct Header;
  struct EntryHeader;
  [[nodiscard]] Header& header() const;
  [[nodiscard]] size_t capacity() const;
  void copy_in(uint64_t position, const void* from, size_t bytes) const;
  void copy_out(uint64_t position, void* to, size_t bytes) const;
  [[nodiscard]] Result<EntryHeader> header_at(uint64_t position, uint64_t head) const;
  [[nodiscard]] Result<Entry> read_entry(uint64_t position, const EntryHeader& entry) const;
  void make_room(uint64_t ns, size_t bytes);

  std::span<std::byte> memory_;
};

}  // namespace ktraced
