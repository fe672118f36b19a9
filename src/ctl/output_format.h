// SPDX-License-Identifier: BSD-2-Clause
// The forms in which events are shown, and their decoders.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/options.h"
#include "ctl/traced_events.h"
#include "decoders/decoder.h"

namespace ktraced {

// As --format takes it: "kmemtrace-minimal".
[[nodiscard]] std::optional<OutputFormat> format_named(std::string_view name);
// In the order in which they are described.
[[nodiscard]] std::vector<std::string> format_names();

// `json`: the global option, for a command without a --format of its own.
[[nodiscard]] std::unique_ptr<Decoder> make_decoder(const ViewOptions& view, bool json,
                                                    const DecoderSources& sources);

// Why a form that is not for all events has nothing to show: as a sentence with the remedy; nothing
// if there may be something. `traced`: the events there can be; `chosen`: by name, empty: all.
[[nodiscard]] std::optional<std::string> nothing_to_show(const ViewOptions& view,
                                                         const Schema& schema,
                                                         const std::vector<std::string>& chosen,
                                                         const EventNames& traced, Traced when);

}  // namespace ktraced
