// SPDX-License-Identifier: BSD-2-Clause
// Whether a recording of all tasks has records of the command that it runs.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "trace/metadata/name_table.h"
#include "trace/packet/packet.h"

namespace ktraced {

// Looks for records in the context of a command and its descendants, up to the first one. Memory:
// names of threads, and an entry for each thread that has records.
class CommandRecords {
 public:
  // `pid`: of the command, as the kernel has it.
  explicit CommandRecords(uint32_t pid) : pid_(pid) {}

  // Takes each packet of the stream.
  void take(const PacketView& packet);
  // Descendants are known by the names of their threads, which may follow their records: call it at
  // the end.
  [[nodiscard]] bool any() const;

 private:
  [[nodiscard]] bool is_own(uint32_t tid, uint64_t ts) const;

  uint32_t pid_;
  NameTable names_;
  std::unordered_map<uint32_t, uint64_t> last_;  // thread → time of its last record
  bool found_ = false;
};

}  // namespace ktraced
