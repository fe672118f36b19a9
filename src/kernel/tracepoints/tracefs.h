// SPDX-License-Identifier: BSD-2-Clause
// The kernel's trace file system, which describes its tracepoints.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace ktraced {

// The directory "events" of a mounted tracefs, searched at the usual places. Reading it needs root
// or CAP_DAC_READ_SEARCH.
class Tracefs {
 public:
  // Fails with ExitCode::unavailable and a remedy if it is not mounted or may not be read.
  static Result<Tracefs> open();
  // The first of these places where there is something. Fails as open(), and with ExitCode::io if
  // one cannot be read.
  static Result<Tracefs> open_at(std::span<const char* const> places);
  // One that lies elsewhere: for tests.
  explicit Tracefs(std::filesystem::path events) : events_(std::move(events)) {}

  // All tracepoints there are now, as "SYSTEM:NAME", sorted. Fails with ExitCode::io
  // if they cannot be read.
  [[nodiscard]] Result<std::vector<std::string>> tracepoints() const;
  // The text of the format file of one. Fails with ExitCode::unavailable if it is not there.
  [[nodiscard]] Result<std::string> format(const std::string& system,
                                           const std::string& name) const;

 private:
  std::filesystem::path events_;
};

// Does `text` match `pattern`, in which '*' stands for any characters and '?' for one?
[[nodiscard]] bool matches_pattern(std::string_view text, std::string_view pattern);

}  // namespace ktraced
