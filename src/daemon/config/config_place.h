// SPDX-License-Identifier: BSD-2-Clause
// Where in the configuration file stands what does not work on this machine.
#pragma once

#include <filesystem>
#include <string>

namespace ktraced {

// "FILE:LINE: key.path: why" for a message that begins with the path of a value: "key.path: why".
// FILE is the drop-in that has this value, or `file`; without the line if none of them has it.
[[nodiscard]] std::string with_place(const std::filesystem::path& file, const std::string& message);

}  // namespace ktraced
