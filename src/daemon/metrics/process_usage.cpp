// SPDX-License-Identifier: BSD-2-Clause
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/files/lines.h"
#include "base/files/read_file.h"
#include "daemon/metrics/metrics_reading.h"

namespace ktraced {
namespace {

constexpr size_t kStatmBytes = 4096;

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// The second number of /proc/self/statm, in pages.
uint64_t resident_bytes() {
  const auto statm = read_file("/proc/self/statm", kStatmBytes);
  const auto pages = numbers_behind<uint64_t>("", statm.value_or(""));
  return pages.size() < 2 ? 0 : pages[1] * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Including the one that reads the directory.
uint64_t open_fds() {
  std::error_code error;
  const std::filesystem::directory_iterator fds("/proc/self/fd", error);
  return error ? 0 : static_cast<uint64_t>(std::distance(begin(fds), end(fds)));
}

}  // namespace

ProcessUsage process_usage() {
  rusage usage{};
  rlimit limit{};
  ::getrusage(RUSAGE_SELF, &usage);
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return {.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime),
          .resident_bytes = resident_bytes(),
          .open_fds = open_fds(),
          .max_fds = limit.rlim_cur};
}

}  // namespace ktraced
