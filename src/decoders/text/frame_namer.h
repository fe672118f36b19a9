// SPDX-License-Identifier: BSD-2-Clause
// Names the frames of stacks.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "analysis/stacks/frame_text.h"

namespace ktraced {

// "ext4_read+0x2a/0x90 [ext4]" as function and module.
[[nodiscard]] FrameText frame_of_symbol(std::string_view symbol);

// Names frames of the kernel. What has no name, as frames of processes, is its address:
// "[0x7f0000001234]". `symbol`: of a kernel address; empty if unknown.
[[nodiscard]] FrameNamer frame_namer(std::function<std::string_view(uint64_t address)> symbol);

}  // namespace ktraced
