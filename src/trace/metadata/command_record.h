// SPDX-License-Identifier: BSD-2-Clause
// Metadata records of the command lines of processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/packet/packet.h"

namespace ktraced {

// The command line of a process, as it was when the daemon read it.
struct CommandLine {
  uint32_t pid = 0;
  uint64_t read_ns = 0;   // CLOCK_BOOTTIME
  uint64_t start_ns = 0;  // of the process, CLOCK_BOOTTIME, rounded down to a clock tick of /proc
  std::string text;       // in the form of LOCATED_WORD_BLANK
  bool cut = false;       // it was longer
  uint32_t parent = 0;    // process that was its parent then; 0: none, or unknown

  // The arguments in the quotes that a shell reads, the form in which those of an exec are shown:
  // cut ones end with "...", and an empty text is one empty argument.
  [[nodiscard]] std::string shown() const;
};

// Is it the command line of the process that began at `start_ns`? 0: that is not known.
[[nodiscard]] bool is_of_process(const CommandLine& command, uint64_t start_ns);

// The bytes of the record for a text of that size.
[[nodiscard]] size_t command_record_size(size_t text_size);
// Appends a METADATA_command record. Of the text it has at most ARGV_MAX bytes.
void append_command_record(const CommandLine& command, std::vector<std::byte>& records);
// The command line in a METADATA_command record; nothing if `record` is none.
[[nodiscard]] std::optional<CommandLine> command_of(RecordView record);

}  // namespace ktraced
