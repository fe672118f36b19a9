// SPDX-License-Identifier: BSD-2-Clause
// The signals of the HTML report, in the format of its page.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/reports/signal_analysis.h"

namespace ktraced {

// The events that it depends on.
inline const std::vector<std::string> kSignalNeeds = {"signal_generate", "signal_deliver"};

// {"sent","received","lost"}: the first `top` rows of both tables, the most frequent first.
[[nodiscard]] nlohmann::json html_signals(const SignalAnalysis& analysis, uint64_t top);

}  // namespace ktraced
