// SPDX-License-Identifier: BSD-2-Clause
// Caveats of a report when not everything was traced.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/coverage/trace_config.h"

namespace ktraced {

// A part of a report's window; ns, CLOCK_BOOTTIME.
struct ConfigSpan {
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  TraceConfig config;
};

// The trace configs of a window from `begin_ns` to `end_ns`: those in `config`, in the format of
// manifests, with the changes in the window.
[[nodiscard]] std::vector<ConfigSpan> spans_of(const nlohmann::json& config, uint64_t begin_ns,
                                               uint64_t end_ns);

// A reason why the window may be incomplete.
struct ConfigCaveat {
  std::string text;       // a sentence
  uint64_t until_ns = 0;  // the reason ends here; UINT64_MAX: it holds up to the end
};

// What is needed of an event: what it says, which another event may say too, or its own records.
enum class Needed { content, records };

// The caveats for a report that needs every hit of the events `needed`, of all tasks. `spans` are
// in time order.
[[nodiscard]] std::vector<ConfigCaveat> config_caveats(std::span<const ConfigSpan> spans,
                                                       std::span<const std::string> needed,
                                                       Needed of_each = Needed::content);

}  // namespace ktraced
