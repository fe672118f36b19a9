// SPDX-License-Identifier: BSD-2-Clause
// The daemon's log on standard error. It never blocks the daemon, even without a reader.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace ktraced {

// Writes lines to a descriptor in a separate thread. When the queue is full, because a pipe has no
// reader or a terminal is stopped, lines are dropped. Their number is logged as soon as there is
// room again. The descriptor's flags are not changed, because other processes share its blocking
// mode.
class LogWriter {
 public:
  // The caller owns `fd` and keeps it open.
  explicit LogWriter(int fd, size_t max_bytes = 256U << 10);
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;
  // Waits up to a second until the queue has been written. Does not wait for a reader that does not
  // read.
  ~LogWriter();

  // Queues whole lines. Never blocks. Thread-safe.
  void write(std::string_view lines);

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the thread, which may outlive this
};

// Sends all log lines to standard error through a LogWriter; in colours on a terminal. Lines logged
// after the destructor are discarded.
class LogOutput {
 public:
  LogOutput();
  LogOutput(const LogOutput&) = delete;
  LogOutput& operator=(const LogOutput&) = delete;
  ~LogOutput();
};

// Opens /dev/null in place of closed standard descriptors, so that nothing else gets their numbers,
// then opens the log.
void fill_standard_descriptors();

}  // namespace ktraced
