// SPDX-License-Identifier: BSD-2-Clause
// The golden trace: every event once, and its expected output.
#pragma once

#include <filesystem>

namespace ktraced::test {

inline const std::filesystem::path kGolden = KTRACED_SOURCE_DIR "/tests/data/golden";

}  // namespace ktraced::test
