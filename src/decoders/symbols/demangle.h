// SPDX-License-Identifier: BSD-2-Clause
// Names of functions as the source has them.
#pragma once

#include <string>

namespace ktraced {

// A name of C++ (Itanium's ABI) or Rust (both forms) as in the source, with the types of its
// arguments; any other name as it is. So are names that are damaged or refer to themselves so often
// that they would become longer than 64 KiB, and C++ names of more than 1024 bytes.
[[nodiscard]] std::string demangled(const std::string& name);

}  // namespace ktraced
