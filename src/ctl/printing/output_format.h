// SPDX-License-Identifier: BSD-2-Clause
// Output formats and their decoders.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ctl/input/options.h"
#include "ctl/input/traced_events.h"
#include "ctl/selection/selection.h"
#include "decoders/text/decoder.h"

namespace ktraced {

// The value of --format: "kmemtrace-minimal".
[[nodiscard]] std::optional<OutputFormat> format_named(std::string_view name);
// In the order of their descriptions.
[[nodiscard]] std::vector<std::string> format_names();

// `json`: the global option, for a command without a --format of its own.
[[nodiscard]] std::unique_ptr<Decoder> make_decoder(const ViewOptions& view, bool json,
                                                    const DecoderSources& sources);

// Fails with ExitCode::usage for a condition that no event of the format can meet.
[[nodiscard]] Result<> check_format_conditions(const ViewOptions& view, const Schema& schema,
                                               const Selection& selection);

// A sentence that explains why a format for certain events has nothing to show, with the remedy;
// nothing if it may have. `traced`: the enabled events; `chosen`: selected by name, empty: all.
[[nodiscard]] std::optional<std::string> nothing_to_show(const ViewOptions& view,
                                                         const Schema& schema,
                                                         const std::vector<std::string>& chosen,
                                                         const EventNames& traced, Traced when);

}  // namespace ktraced
