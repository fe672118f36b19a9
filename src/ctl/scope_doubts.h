// SPDX-License-Identifier: BSD-2-Clause
// What a report cannot know because not everything was traced.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decoders/trace_scope.h"

namespace ktraced {

// A part of a report's window; ns, CLOCK_BOOTTIME.
struct ScopeSpan {
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  TraceScope scope;
};

// Of a window from `begin_ns` to `end_ns`, what was traced: by `config`, as manifests have it,
// with the changes in it.
[[nodiscard]] std::vector<ScopeSpan> spans_of(const nlohmann::json& config, uint64_t begin_ns,
                                              uint64_t end_ns);

// Something that is not in the window.
struct ScopeDoubt {
  std::string text;       // a sentence
  uint64_t until_ns = 0;  // from then on it does not hold; UINT64_MAX: it does up to the end
};

// Why who needs every hit of the events `needed`, of all tasks, must doubt what the spans have.
// They follow each other in time.
[[nodiscard]] std::vector<ScopeDoubt> scope_doubts(std::span<const ScopeSpan> spans,
                                                   std::span<const std::string> needed);

}  // namespace ktraced
