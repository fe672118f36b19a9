// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/namespaces.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/files/lines.h"
#include "base/files/read_file.h"

namespace ktraced {

// The inode of the initial namespace is the same on every machine. A kernel without pid namespaces
// (CONFIG_PID_NS) has only the directory.
bool in_initial_pid_namespace() {
  constexpr ino_t kInitialPidNamespace = 0xeffffffc;  // PROC_PID_INIT_INO
  struct stat status{};
  if (::stat("/proc/self/ns/pid", &status) == 0) return status.st_ino == kInitialPidNamespace;
  return errno == ENOENT && ::stat("/proc/self/ns", &status) == 0;
}

std::optional<int64_t> boottime_offset_ns() {
  struct stat own{}, of_children{};
  const bool any = ::stat("/proc/self/ns/time", &own) == 0 &&
                   ::stat("/proc/self/ns/time_for_children", &of_children) == 0;
  if (!any) return 0;
  return boottime_offset_in({.own = own.st_ino, .of_children = of_children.st_ino},
                            read_file("/proc/self/timens_offsets", 4096).value_or(""));
}

// The file has the offsets of the namespace for children. A process that has unshared its own is in
// another one until it executes a program or forks.
std::optional<int64_t> boottime_offset_in(const TimeNamespaces& namespaces,
                                          std::string_view timens_offsets) {
  constexpr uint64_t kInitialTimeNamespace = 0xeffffffa;  // PROC_TIME_INIT_INO
  if (namespaces.own == kInitialTimeNamespace) return 0;
  if (namespaces.own != namespaces.of_children) return std::nullopt;
  return boottime_offset_in(timens_offsets);
}

// The lines are "monotonic SECONDS NANOSECONDS" and "boottime SECONDS NANOSECONDS".
int64_t boottime_offset_in(std::string_view timens_offsets) {
  const auto numbers = numbers_behind<int64_t>("boottime", timens_offsets);
  return numbers.size() < 2 ? 0 : numbers[0] * 1'000'000'000 + numbers[1];
}

}  // namespace ktraced
