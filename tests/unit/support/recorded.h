// SPDX-License-Identifier: BSD-2-Clause
// The recordings of several kernels, as parameters of tests: see tests/data/recorded/README.md.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

namespace ktraced::test {

inline const std::filesystem::path kRecorded = KTRACED_SOURCE_DIR "/tests/data/recorded";

inline auto recorded_names() {
  return ::testing::Values("6.1-filtered", "6.1-whole", "6.12-filtered", "6.12-whole",
                           "6.12-strings", "7.3-filtered");
}

// "6_12_whole": the name of a test has only letters, digits and underscores.
inline std::string name_of_recorded(const ::testing::TestParamInfo<const char*>& test) {
  std::string name = test.param;
  std::ranges::replace_if(name, [](char c) { return c == '.' || c == '-'; }, '_');
  return name;
}

}  // namespace ktraced::test
