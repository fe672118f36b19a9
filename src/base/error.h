// SPDX-License-Identifier: BSD-2-Clause
// Errors as values: what failed, on what, and what the user can do about it.
#pragma once

#include <fmt/format.h>

#include <expected>
#include <string>
#include <utility>

namespace ktraced {

// Process exit codes, from sysexits.h; every error carries the one that a command exits with.
enum class ExitCode : int {
  ok = 0,
  usage = 64,        // command line
  data = 65,         // input data: trace files, socket bytes
  unavailable = 69,  // kernel feature, daemon not running
  software = 70,     // a bug in ktraced
  os = 71,           // the operating system refused something unexpected
  io = 74,           // reading or writing files
  no_permission = 77,
  config = 78,
};

struct Error {
  ExitCode code = ExitCode::software;
  std::string message;  // one sentence: what failed, on what, and the remedy
  // The text in which the error is, and a line that marks the place; empty for most errors.
  std::string excerpt;
};

template <class T = void>
using Result = std::expected<T, Error>;

// Makes the error half of a Result: `return fail(ExitCode::usage, "unknown event '{}'", name);`
template <class... Args>
[[nodiscard]] std::unexpected<Error> fail(ExitCode code, fmt::format_string<Args...> format,
                                          Args&&... args) {
  return std::unexpected(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

// Propagates the error of one Result as that of another.
template <class T>
[[nodiscard]] std::unexpected<Error> propagate(Result<T>& result) {
  return std::unexpected(std::move(result.error()));
}

// "Permission denied" and the like for a positive errno; thread-safe.
[[nodiscard]] std::string errno_text(int error);

// True for an errno that says nothing of the kernel or of rights: the machine lacks memory or
// descriptors now, or the call was interrupted. Later it may succeed.
[[nodiscard]] bool is_transient(int error);

}  // namespace ktraced
