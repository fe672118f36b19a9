// The forms in which events are shown, and their decoders.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/options.h"
#include "decoders/decoder.h"

namespace ktraced {

// As --format takes it: "kmemtrace-minimal".
[[nodiscard]] std::optional<OutputFormat> format_named(std::string_view name);
// In the order in which they are described.
[[nodiscard]] std::vector<std::string> format_names();

// `json`: the global option, for a command without a --format of its own.
[[nodiscard]] std::unique_ptr<Decoder> make_decoder(const ViewOptions& view, bool json,
                                                    const DecoderSources& sources);

}  // namespace ktraced
