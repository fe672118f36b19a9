// SPDX-License-Identifier: BSD-2-Clause
// Child processes of a test.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace ktraced::live {

using namespace std::chrono_literals;
using Command = std::vector<std::string>;
using Milliseconds = std::chrono::milliseconds;

// The only limit of tests that wait: large, because a loaded machine is slow.
constexpr Milliseconds kNever = 100s;

// How a process ended and what it wrote.
struct Finished {
  int exit_code = -1;  // -1: killed by `signal`
  int signal = 0;
  std::string out;
  std::string err;
};

// Receives the output of a process, line by line, on the reader's thread.
using LineSink = std::function<void(std::string_view)>;

// A running child with pipes on its three standard descriptors; the destructor kills it. Its output
// is collected all the time, so it never blocks on a full pipe.
class Process {
 public:
  // Throws if the program cannot be run. Lines of standard output go to `sink` if given, and are
  // not kept then.
  explicit Process(const Command& command, LineSink sink = nullptr);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool running();
  void write_input(std::string_view text);
  void close_input() { input_.reset(); }
  void send(int signal) const;
  // True if its main thread sleeps (state S).
  [[nodiscard]] bool asleep() const;
  // Waits for the end; kills the process and throws if it does not end.
  Finished wait();
  // The output so far.
  [[nodiscard]] std::string out() const;
  [[nodiscard]] std::string err() const;

 private:
  void read_all(int fd, std::string& into, const LineSink& sink);
  bool try_reap();

  pid_t pid_ = -1;
  std::optional<int> wait_status_;
  Fd input_, output_, errors_;
  mutable std::mutex mutex_;  // guards the texts
  std::string out_text_, err_text_;
  std::vector<std::jthread> readers_;
};

// Runs a command to its end.
Finished run(const Command& command, std::string_view input = "");

// The value in the line "KEY:\tVALUE" of /proc/PID/status, of a process or a thread; empty if it
// has ended, or if there is no such line.
[[nodiscard]] std::string process_status(pid_t pid, const std::string& key);

// How many file descriptors a process has open.
[[nodiscard]] size_t open_descriptors(pid_t pid);

// User and system time of a process, in clock ticks.
[[nodiscard]] long cpu_ticks(pid_t pid);

// Calls `done` until it is true; false if that never happens.
bool eventually(const std::function<bool()>& done);

// Waits until a counter that only grows has this value. Fails at once when it is beyond it.
[[nodiscard]] testing::AssertionResult reaches(const std::function<uint64_t()>& counter,
                                               uint64_t expected);

}  // namespace ktraced::live
