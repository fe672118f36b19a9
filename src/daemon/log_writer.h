// SPDX-License-Identifier: BSD-2-Clause
// The daemon's log on standard error, which nobody has to read for the daemon to go on.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace ktraced {

// Writes lines to a descriptor on a thread of its own. Lines that find the queue full, because
// nobody reads a pipe or a terminal is stopped, are dropped; how many is a line of its own, as
// soon as there is room again. The descriptor stays as it is: whether it blocks is shared with
// other processes.
class LogWriter {
 public:
  // `fd` stays the caller's, and open.
  explicit LogWriter(int fd, size_t max_bytes = 256U << 10);
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;
  // Waits a second at most until what is queued has been written, and not at all for a reader that
  // does not read.
  ~LogWriter();

  // Takes whole lines. Never waits. Thread-safe.
  void write(std::string_view lines);

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the thread, which may outlive this
};

// Makes standard error, by a LogWriter, the place of all log lines; in colours on a terminal.
// Holds until the object goes: what is logged then goes nowhere.
class LogOutput {
 public:
  LogOutput();
  LogOutput(const LogOutput&) = delete;
  LogOutput& operator=(const LogOutput&) = delete;
  ~LogOutput();
};

// Opens /dev/null in place of standard descriptors that are closed, so that nothing else gets
// their numbers, and then the log.
void fill_standard_descriptors();

}  // namespace ktraced
