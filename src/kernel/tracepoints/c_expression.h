// SPDX-License-Identifier: BSD-2-Clause
// Evaluates constant C expressions, which the kernel leaves in its trace event formats.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/error.h"

namespace ktraced {

// Names of enum constants and their values.
using Constants = std::map<std::string, uint64_t, std::less<>>;

// The value of e.g. "(( gfp_t)(((((1UL))) << (10))|0x80u)) & ~((unsigned long)X)":
// numbers, named constants, casts (which change nothing), ~ - + << >> & ^ |. All in
// 64 bits, unsigned. Fails with ExitCode::data.
[[nodiscard]] Result<uint64_t> evaluate_c_expression(std::string_view text,
                                                     const Constants& constants);

}  // namespace ktraced
