// SPDX-License-Identifier: BSD-2-Clause
// The kernel's own trace of its tracepoints, for comparison.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "harness/machine/temp_dir.h"

namespace ktraced::live {

// One line in the kernel's format: "bash-33 [001] d..1. 18440.883932: kfree: call_site=…".
struct TraceLine {
  uint64_t us = 0;  // CLOCK_BOOTTIME
  pid_t tid = 0;
  std::string event;
  std::string text;
  // True for the same hit; times differ because each tracer reads the clock itself.
  bool operator==(const TraceLine& other) const { return key() == other.key(); }
  auto operator<=>(const TraceLine& other) const { return key() <=> other.key(); }

 private:
  [[nodiscard]] std::tuple<pid_t, const std::string&, const std::string&> key() const {
    return {tid, event, text};
  }
};

// The lines of the text that are events; comments and others are skipped. The kernel prints names
// of threads as they are: the parts of an event that a newline in a name has broken are joined
// again.
[[nodiscard]] std::vector<TraceLine> trace_lines(std::string_view text);

// Removes fields ("name=value") that no line of the same event in `others` has: older kernels print
// fewer.
void keep_common_fields(std::vector<TraceLine>& lines, const std::vector<TraceLine>& others);

// How the kernel prints %p in a tracepoint's text. With real pointers, Linux 6.1 omits every %s.
enum class Addresses { hashed, real };

// A private tracing instance; the destructor removes it. Throws where it cannot be made.
class KernelTrace {
 public:
  // Starts tracing tracepoints ("kmem:kfree", "kfree", "sched:*"). If pids are given, traces only
  // those.
  explicit KernelTrace(const std::vector<std::string>& tracepoints,
                       const std::vector<pid_t>& pids = {}, Addresses addresses = Addresses::real);
  ~KernelTrace();
  KernelTrace(const KernelTrace&) = delete;
  KernelTrace& operator=(const KernelTrace&) = delete;

  // Stops tracing and returns the lines by time; throws if anything was lost.
  [[nodiscard]] std::vector<TraceLine> stop();

 private:
  void begin(const std::vector<std::string>& tracepoints, const std::vector<pid_t>& pids,
             Addresses addresses) const;
  void write(const char* file, const std::string& value) const;

  TempDir mount_point_;
  std::filesystem::path instance_;
};

}  // namespace ktraced::live
