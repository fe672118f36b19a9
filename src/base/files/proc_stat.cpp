// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/proc_stat.h"

#include <unistd.h>

#include <cstdlib>

namespace ktraced {

uint64_t proc_tick_ns() {
  static const auto ns = 1'000'000'000U / static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  return ns;
}

std::optional<uint64_t> number_in_stat(const std::string& line, int field) {
  size_t at = line.rfind(')');  // ends comm, field 2, which may contain anything
  for (int i = 2; i < field && at != std::string::npos; ++i) at = line.find(' ', at + 1);
  if (at == std::string::npos) return std::nullopt;
  return std::strtoull(line.c_str() + at, nullptr, 10);
}

std::optional<uint64_t> start_in_stat(const std::string& line) {
  constexpr int kStartTime = 22;
  const auto ticks = number_in_stat(line, kStartTime);
  if (!ticks) return std::nullopt;
  return *ticks * proc_tick_ns();
}

}  // namespace ktraced
