// SPDX-License-Identifier: BSD-2-Clause
// How often samples are taken.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace ktraced {

// How often a CPU is sampled: by its clock, or by the cycles in which it runs.
struct SamplePeriod {
  enum class Of { time, cycles };
  Of of = Of::time;
  uint64_t number = 10'000'000;  // ns, or cycles

  bool operator==(const SamplePeriod&) const = default;
};
// "10ms", "250us", "1s", "2000000 cycles". Fails with ExitCode::usage; the message is a clause.
[[nodiscard]] Result<SamplePeriod> parse_sample_period(std::string_view text);
// The shortest text that parse_sample_period() reads as this period.
[[nodiscard]] std::string text_of(const SamplePeriod& period);

}  // namespace ktraced
