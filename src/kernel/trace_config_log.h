// SPDX-License-Identifier: BSD-2-Clause
// What was traced and filtered, and when that changed, kept beside the flight recorder's history.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/mapping.h"

namespace ktraced {

// A bounded log of trace configs in memory that outlives the daemon: entries with their time, the
// oldest evicted when there is no room. A daemon may end between any two stores: an entry is
// there once the head is behind it. What changes the kernel is put between begin_change() and
// end_change(), so that a config that was only half applied is not taken for the one that was
// traced. Belongs to one thread.
class TraceConfigLog {
 public:
  static constexpr size_t kBytes = 1U << 20;

  struct Entry {
    uint64_t ns = 0;  // in effect from then on; CLOCK_BOOTTIME
    nlohmann::json config;
  };
  struct Content {
    std::vector<Entry> entries;   // the oldest first
    uint64_t known_since_ns = 0;  // what was traced before is not known; 0: it is
  };

  // `memory` has kBytes, all zero or written by an earlier daemon.
  explicit TraceConfigLog(Mapping memory) : memory_(std::move(memory)) {}

  // Fails with ExitCode::data if the log is damaged, or its last daemon ended within a change.
  [[nodiscard]] Result<Content> read() const;
  // Empties the log: nothing is known of the time before `known_since_ns`.
  void clear(uint64_t known_since_ns);

  // One that has no room, even alone, leaves a gap up to the next.
  void append(uint64_t ns, std::string_view config);
  void begin_change(uint64_t ns);
  void end_change();

 private:
  struct Header;
  struct EntryHeader;
  [[nodiscard]] Header& header() const;
  [[nodiscard]] static size_t capacity();
  void copy_in(uint64_t position, const void* from, size_t bytes) const;
  void copy_out(uint64_t position, void* to, size_t bytes) const;
  [[nodiscard]] Result<EntryHeader> header_at(uint64_t position, uint64_t head) const;
  [[nodiscard]] Result<Entry> read_entry(uint64_t position, const EntryHeader& entry) const;
  void make_room(uint64_t ns, size_t bytes);

  Mapping memory_;
};

}  // namespace ktraced
