// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/selection/comm_pattern.h"

#include <algorithm>

#include "base/text/plain_text.h"
#include "schema/names.h"

namespace ktraced {

// wq_worker_comm() and format_worker_id() of the kernel: "kworker/CPU:IDH" or "kworker/uPOOL:ID",
// then the sign and the description. A rescuer is "kworker/R-" and its work queue.
std::string kernel_comm(std::string_view shown) {
  if (!shown.starts_with("kworker/")) return std::string(shown);
  if (const size_t colon = shown.find(':');
      colon != std::string_view::npos && !shown.starts_with("kworker/R-"))
    shown = shown.substr(0, shown.find_first_of("+-", colon));
  return std::string(shown.substr(0, kCommBytes));
}

namespace {

// A pattern that matches what the kernel keeps of a name that is longer. A character of UTF-8 that
// the kernel cuts cannot be typed.
std::string kept_pattern(std::string_view name) {
  size_t kept = 0;
  while (kept < kCommBytes) {
    const size_t length = std::max<size_t>(utf8_length(name.substr(kept)), 1);
    if (kept + length > kCommBytes) return std::string(name.substr(0, kept)) + '*';
    kept += length;
  }
  return std::string(name.substr(0, kept));
}

}  // namespace

Result<std::string> comm_pattern(std::string_view typed) {
  std::string pattern = kernel_comm(typed);
  const std::string problem = comm_problem(pattern);
  if (problem.empty()) return pattern;
  std::string suggestion;
  if (pattern.size() > kCommBytes) suggestion = kept_pattern(pattern);
  return fail(
      ExitCode::usage, "'{}'{} {}{}", typed, problem.starts_with('\'') ? ":" : "", problem,
      comm_problem(suggestion).empty() ? fmt::format("; did you mean '{}'?", suggestion) : "");
}

}  // namespace ktraced
