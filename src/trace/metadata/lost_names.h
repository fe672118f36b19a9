// SPDX-License-Identifier: BSD-2-Clause
// Metadata records that say which names and command lines are missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/packet/packet.h"

namespace ktraced {

// Names that threads got in this time may be missing; ns, CLOCK_BOOTTIME.
struct LostNamesWindow {
  uint64_t from = 0;
  uint64_t until = 0;

  bool operator==(const LostNamesWindow&) const = default;
};

// A rec_metadata_lost_names.
[[nodiscard]] std::vector<std::byte> lost_names_record(const LostNamesWindow& window);
// The window in such a record; nothing if `record` is of another kind.
[[nodiscard]] std::optional<LostNamesWindow> lost_names_of(RecordView record);

// A rec_metadata_lost_commands.
[[nodiscard]] std::vector<std::byte> lost_commands_record();
// A rec_metadata_unread_commands.
[[nodiscard]] std::vector<std::byte> unread_commands_record();

// What such records of a stream or trace say. Neighboring times are joined, and their number is
// bounded.
class LostNames {
 public:
  static constexpr size_t kMaxWindows = 16;
  static constexpr uint64_t kJoinedNs = 1'000'000'000;  // a gap between neighbors

  // Adds what the record says; ignores records of other kinds.
  void add(RecordView record);
  void add(const LostNamesWindow& window);
  // A sentence without its end; empty: nothing was lost.
  [[nodiscard]] std::string text() const;
  // Were all command lines read? Those for which there was no room are in text().
  [[nodiscard]] bool commands_read() const { return commands_read_; }

 private:
  std::vector<LostNamesWindow> windows_;  // in time order
  bool commands_ = false;                 // some are missing
  bool commands_read_ = true;
};

}  // namespace ktraced
