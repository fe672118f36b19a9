// SPDX-License-Identifier: BSD-2-Clause
// The events that a client of the stream receives.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/client/daemon.h"

namespace ktraced::live {

// Events as JSON lines, in the order shown, with the losses among them.
class Trace {
 public:
  Trace() = default;
  explicit Trace(std::vector<json> lines) : lines_(std::move(lines)) {}

  [[nodiscard]] const std::vector<json>& lines() const { return lines_; }
  // Events (never losses) of that name; of a process or thread if `task` is not 0.
  [[nodiscard]] std::vector<json> events(std::string_view name, long task = 0) const;
  [[nodiscard]] std::vector<json> where(const std::function<bool(const json&)>& matches) const;
  [[nodiscard]] long lost() const;  // of all events
  [[nodiscard]] long lost(std::string_view event) const;

 private:
  std::vector<json> lines_;
};

// Options of a client that receives the events of these processes alone.
[[nodiscard]] Command only_of(const std::vector<pid_t>& pids);

// Counts of events shown to a client and of events reported as lost.
struct Totals {
  long shown = 0;
  long lost = 0;
};

// `ktracectl stream --format json` running beside the test. It has subscribed when the constructor
// returns.
class Stream {
 public:
  explicit Stream(Daemon& daemon, const Command& options = {});

  // Ends the client cleanly, after it has shown everything that happened until now.
  Trace finish();
  // The same, one line after the other: for more events than fit into memory once they are parsed.
  void finish(const std::function<void(const json&)>& visit);
  // The same, but only counts: for more events than are worth reading.
  Totals finish_and_count();
  void send(int signal) { process_->send(signal); }
  [[nodiscard]] pid_t pid() const { return process_->pid(); }
  [[nodiscard]] size_t lines_so_far() const;
  // Waits for a client that ends on its own (--count, --duration).
  Trace wait();

 private:
  // The lines shown, after the client has ended successfully.
  const std::vector<std::string>& lines_at_end();

  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  std::unique_ptr<Process> process_;
};

// A field of an event as a number, even if it is shown in hexadecimal or as a boolean.
long long number_of(const json& event, const std::string& field);
// An array field as numbers.
std::vector<uint64_t> numbers_of(const json& event, const std::string& field);
// The n of the getpriority(0, n) calls of a process or thread, in the order shown. It may have no
// other recorded calls.
std::vector<uint64_t> call_numbers(const Trace& trace, long task);
// The annotation beside a number: the name of a system call, a signal, an errno, flags; empty if
// there is none.
std::string name_of(const json& event, const std::string& field);

}  // namespace ktraced::live
