// SPDX-License-Identifier: BSD-2-Clause
// What the kernel itself traces and prints of its tracepoints, to compare with.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "harness/temp_dir.h"

namespace ktraced::live {

// One line of the kernel's form: "bash-33 [001] d..1. 18440.883932: kfree: call_site=…".
struct TraceLine {
  uint64_t us = 0;  // CLOCK_BOOTTIME
  pid_t tid = 0;
  std::string event;
  std::string text;
  // Of the same hit; each tracer has its own time.
  bool operator==(const TraceLine& other) const { return key() == other.key(); }
  auto operator<=>(const TraceLine& other) const { return key() <=> other.key(); }

 private:
  [[nodiscard]] std::tuple<pid_t, const std::string&, const std::string&> key() const {
    return {tid, event, text};
  }
};

// The lines with an event of such a text; others, as comments, are left out.
[[nodiscard]] std::vector<TraceLine> trace_lines(std::string_view text);

// Leaves out of the texts the fields ("name=value") that no line of the same event in `others` has:
// older kernels print fewer.
void keep_common_fields(std::vector<TraceLine>& lines, const std::vector<TraceLine>& others);

// How the kernel prints what is %p in a tracepoint's text. With real ones Linux 6.1 leaves out all
// that is %s.
enum class Addresses { hashed, real };

// A tracing instance of the test's own, removed at the end. Throws where it cannot be made.
class KernelTrace {
 public:
  // Begins with tracepoints ("kmem:kfree", "sched:*"); pids: only what these do, if there are any.
  explicit KernelTrace(const std::vector<std::string>& tracepoints,
                       const std::vector<pid_t>& pids = {}, Addresses addresses = Addresses::real);
  ~KernelTrace();
  KernelTrace(const KernelTrace&) = delete;
  KernelTrace& operator=(const KernelTrace&) = delete;

  // Ends it and returns what was traced, by time; throws if anything was lost.
  [[nodiscard]] std::vector<TraceLine> stop();

 private:
  void begin(const std::vector<std::string>& tracepoints, const std::vector<pid_t>& pids,
             Addresses addresses) const;
  void write(const char* file, const std::string& value) const;

  TempDir mount_point_;
  std::filesystem::path instance_;
};

}  // namespace ktraced::live
