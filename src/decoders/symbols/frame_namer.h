// SPDX-License-Identifier: BSD-2-Clause
// Names the frames of stacks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/stacks/frame_text.h"
#include "decoders/symbols/frame_names.h"

namespace ktraced {

// What is looked up beside the functions.
struct FrameOptions {
  bool lines = false;       // of the source, and functions that were inlined
  bool debuginfod = false;  // debug files that are not on this machine, from servers
};
[[nodiscard]] FrameNames::Options file_options(const FrameOptions& options);

// Why frames have no names, for people: the first of FrameNames::problems(), and how many more
// there are.
[[nodiscard]] std::vector<std::string> frame_caveats(const FrameNames& files);

// "ext4_read+0x2a/0x90 [ext4]" as function and module.
[[nodiscard]] FrameText frame_of_symbol(std::string_view symbol);

// Names frames of the kernel by `symbol`, which is empty if it is unknown, those of processes by
// their files, and code that was made at run time as the trace does. What has no name is said as it
// is: "libc.so.6+0x2a1ca" of a file without that symbol, "[vdso]", "[anonymous]" for code of no
// file, "[0x7f0000001234]" for an address in no known mapping. `files` must outlive the result; its
// problems() say what was not read.
[[nodiscard]] FrameNamer frame_namer(std::function<std::string_view(uint64_t address)> symbol,
                                     FrameNames& files);

}  // namespace ktraced
