// The decoder for a format.
#pragma once

#include <memory>

#include "ctl/options.h"
#include "decoders/decoder.h"

namespace ktraced {

// `json`: the global option, for a command without a --format of its own.
[[nodiscard]] std::unique_ptr<Decoder> make_decoder(const ViewOptions& view, bool json,
                                                    const DecoderSources& sources);

}  // namespace ktraced
