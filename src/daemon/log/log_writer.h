// SPDX-License-Identifier: BSD-2-Clause
// The daemon's log, on standard error or in the journal. It never blocks the daemon, even without a
// reader.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace ktraced {

// Counts log lines that are dropped; for any thread.
using LostLines = std::shared_ptr<std::atomic<uint64_t>>;

// Where the records of a LogWriter go. Belongs to the writer's thread, but for lost_record().
class LogTarget {
 public:
  LogTarget() = default;
  LogTarget(const LogTarget&) = delete;
  LogTarget& operator=(const LogTarget&) = delete;
  virtual ~LogTarget() = default;

  // Writes a record, or loses it. False if nothing reads the target for `timeout_ms`: the same
  // record can be tried again.
  virtual bool try_put(const std::string& record, int timeout_ms) = 0;
  // The record that reports lost ones.
  [[nodiscard]] virtual std::string lost_record(uint64_t lost) const = 0;
};

// Writes records to a target in a separate thread. When the queue is full, because a pipe has no
// reader or a terminal is stopped, records are dropped. Their number is logged as soon as there is
// room again.
class LogWriter {
 public:
  static constexpr size_t kQueueBytes = 256U << 10;

  explicit LogWriter(std::unique_ptr<LogTarget> target, size_t max_bytes = kQueueBytes,
                     LostLines lost = nullptr);
  // Writes lines to a descriptor, which the caller owns and keeps open. Its flags are not changed,
  // because other processes share its blocking mode.
  explicit LogWriter(int fd, size_t max_bytes = kQueueBytes, LostLines lost = nullptr);
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;
  // Waits up to a second until the queue has been written. Does not wait for a reader that does not
  // read.
  ~LogWriter();

  // Queues a record: a whole line. Never blocks. Thread-safe.
  void write(std::string record);

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the thread, which may outlive this
  LostLines lost_;                // may be null
};

// Sends all log lines through a LogWriter: to the journal if standard error is connected to it,
// with priorities and LogFields; else to standard error, in colours on a terminal. Lines logged
// after the destructor are discarded.
class LogOutput {
 public:
  LogOutput();
  LogOutput(const LogOutput&) = delete;
  LogOutput& operator=(const LogOutput&) = delete;
  ~LogOutput();

  // Lines that were dropped because nobody read them in time.
  [[nodiscard]] const LostLines& lost() const { return lost_; }

 private:
  LostLines lost_ = std::make_shared<std::atomic<uint64_t>>(0);
};

// Opens /dev/null in place of closed standard descriptors, so that nothing else gets their numbers,
// then opens the log.
void fill_standard_descriptors();

}  // namespace ktraced
