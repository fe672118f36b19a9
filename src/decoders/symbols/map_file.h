// SPDX-License-Identifier: BSD-2-Clause
// What programs that compile at run time say of their code: /tmp/perf-PID.map.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "decoders/symbols/address_names.h"

namespace ktraced {

// In bytes, of such a file. It grows as long as the process compiles.
inline constexpr size_t kMaxMapFile = size_t{128} << 20;

// The names of addresses of the process. Lines are "START SIZE NAME", with the numbers in
// hexadecimal; lines of another form are left out. Code may be replaced: of overlapping lines, the
// last holds. Fails with ExitCode::data if there are more than AddressNames can hold.
[[nodiscard]] Result<AddressNames> map_names(std::string_view text);

// The same of a file. Fails as read_file() too, beyond kMaxMapFile.
[[nodiscard]] Result<AddressNames> read_map_file(const std::filesystem::path& path);

}  // namespace ktraced
