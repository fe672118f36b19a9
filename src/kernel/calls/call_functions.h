// SPDX-License-Identifier: BSD-2-Clause
// The kernel functions that carry out system calls.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/error.h"

struct btf;

namespace ktraced {

// Most calls recorded at their functions by one session: attaching takes the kernel some ten
// milliseconds for each function, and a call has up to three.
inline constexpr size_t kCallsAtFunctionsMax = 8;

// Finds the functions of calls by their names: __x64_sys_NAME and, for 32-bit programs,
// __ia32_sys_NAME and __ia32_compat_sys_NAME. Knows only plain calls: each hit of their tracepoints
// is a call or a return of one of these functions. Not plain are calls that return twice (fork), do
// not return (exit), have a function of another name (stat), or whose function runs without a call
// (time).
class CallFunctions {
 public:
  // The functions of the running kernel. Fails as load_kernel_btf().
  static Result<CallFunctions> of_kernel();
  // `names`: of the functions in the kernel's BTF.
  explicit CallFunctions(std::set<std::string> names) : names_(std::move(names)) {}

  // All functions where these calls are recorded, by any program. Fails with
  // ExitCode::unavailable if some hits of the tracepoints would be missing there.
  [[nodiscard]] Result<std::set<std::string>> of(const std::vector<std::string>& calls) const;

  // All that of() may return, on any kernel.
  [[nodiscard]] static std::vector<std::string> possible();

 private:
  [[nodiscard]] Result<> add_call(const std::string& call, std::set<std::string>& functions) const;
  [[nodiscard]] Result<> add_seccomp(std::set<std::string>& functions) const;

  std::set<std::string> names_;
};

// Where seccomp decides about a call; a kernel has one of them (6.19 the first, 7.3 the second).
inline constexpr const char* kSecureComputing = "__secure_computing";
inline constexpr const char* kSeccompPermit = "__seccomp_permit_syscall";

}  // namespace ktraced
