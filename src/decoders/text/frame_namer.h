// SPDX-License-Identifier: BSD-2-Clause
// Names the frames of stacks.
#pragma once

#include <string_view>

#include "analysis/stacks/frame_text.h"
#include "decoders/text/decoder.h"

namespace ktraced {

// "ext4_read+0x2a/0x90 [ext4]" as function and module.
[[nodiscard]] FrameText frame_of_symbol(std::string_view symbol);

// Names frames of the kernel. What has no name, as frames of processes, is its address:
// "[0x7f0000001234]". `symbols` must outlive it.
[[nodiscard]] FrameNamer frame_namer(SymbolResolver& symbols);

}  // namespace ktraced
