// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/stacks/sample_period.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace ktraced {
namespace {

constexpr std::string_view kCycles = " cycles";
constexpr uint64_t kShortestNs = 100'000, kLongestNs = 10'000'000'000;
constexpr uint64_t kFewestCycles = 100'000, kMostCycles = 9'999'999'999;

struct Unit {
  std::string_view name;
  uint64_t ns;
};
constexpr std::array<Unit, 3> kUnits{{{"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}}};

}  // namespace

Result<SamplePeriod> parse_sample_period(std::string_view text) {
  SamplePeriod period;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), period.number);
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  const auto* time = std::ranges::find(kUnits, unit, &Unit::name);
  if (error != std::errc{} || text.starts_with('0') || (time == kUnits.end() && unit != kCycles))
    return fail(ExitCode::usage,
                "must be a time, such as 10ms, 250us or 1s, or cycles, such as '2000000 cycles'");
  if (unit == kCycles) {
    period.of = SamplePeriod::Of::cycles;
    if (period.number < kFewestCycles || period.number > kMostCycles)
      return fail(ExitCode::usage, "must be from {} to {} cycles", kFewestCycles, kMostCycles);
    return period;
  }
  if (period.number > kLongestNs / time->ns || period.number * time->ns < kShortestNs)
    return fail(ExitCode::usage, "must be from 100us to 10s");
  period.number *= time->ns;
  return period;
}

std::string text_of(const SamplePeriod& period) {
  if (period.of == SamplePeriod::Of::cycles) return fmt::format("{}{}", period.number, kCycles);
  for (const auto& [name, ns] : kUnits)
    if (period.number % ns == 0) return fmt::format("{}{}", period.number / ns, name);
  return fmt::format("{}ns", period.number);
}

}  // namespace ktraced
