// SPDX-License-Identifier: BSD-2-Clause
#include "harness/traces/missed.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace ktraced::live {
namespace {

// Is this Linux that one, or a later one?
bool is_linux(int major, int minor) {
  utsname name{};
  ::uname(&name);
  char* end = nullptr;
  const long own_major = std::strtol(name.release, &end, 10);
  const long own_minor = *end == '.' ? std::strtol(end + 1, nullptr, 10) : 0;
  return std::pair(own_major, own_minor) >= std::pair<long, long>(major, minor);
}

bool programs_are_preempted() { return is_linux(7, 0); }

}  // namespace

void expect_all_but_missed(const std::vector<uint64_t>& numbers, uint64_t count, Daemon& daemon,
                           const std::string& event) {
  expect_all_but_missed(numbers, 1, count, daemon.event_status(event)["missed"].get<uint64_t>());
}

void expect_all_but_missed(const std::vector<uint64_t>& numbers, uint64_t first, uint64_t last,
                           uint64_t missed) {
  uint64_t before = first - 1;
  for (uint64_t number : numbers) {
    ASSERT_GT(number, before) << "out of order, or twice";
    before = number;
  }
  const uint64_t count = last + 1 - first;
  EXPECT_LE(before, last);
  EXPECT_LE(numbers.size(), count);
  EXPECT_GE(numbers.size() + missed, count) << missed << " hits were missed";
}

bool misses_are_counted() { return is_linux(6, 7); }

bool complete_but_for_missed(const json& expected) {
  if (!programs_are_preempted()) return expected["complete"] == true;
  const json& because = expected["incomplete_because"];
  return expected["complete"] == because.empty() &&
         std::ranges::all_of(because, [](const json& reason) {
           return reason.get<std::string>().starts_with("the kernel skipped ");
         });
}

}  // namespace ktraced::live
