// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/namespaces.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/files/read_file.h"

namespace ktraced {
namespace {

// Takes the next number, behind blanks, from the beginning of the text; 0 if there is none.
int64_t take_number(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

}  // namespace

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
  constexpr std::string_view kLabel = "boottime";
  const size_t at = timens_offsets.find(kLabel);
  if (at == std::string_view::npos) return 0;
  timens_offsets.remove_prefix(at + kLabel.size());
  const int64_t seconds = take_number(timens_offsets);
  return seconds * 1'000'000'000 + take_number(timens_offsets);
}

}  // namespace ktraced
