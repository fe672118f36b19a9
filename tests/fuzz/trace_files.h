// SPDX-License-Identifier: BSD-2-Clause
// A trace directory made from an input.
#pragma once

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz/recorded.h"
#include "fuzz/temporary_directory.h"

namespace ktraced::fuzz {

// Its files are the parts of an input; an empty part is that of the golden trace.
class TraceFiles {
 public:
  static constexpr std::array kNames = {
      "manifest.json", "tasks.json", "caches.json",  "cgroups.json", "commands.json",
      "files.json",    "jit.json",   "symbols.json", "ctf/cpu0",     "ctf/cpu1"};

  TraceFiles() {
    std::filesystem::create_directories(path() / "ctf");
    for (size_t i = 0; i < kNames.size(); ++i) {
      std::ifstream file(kGoldenTrace / kNames[i], std::ios::binary);
      golden_[i] = std::string(std::istreambuf_iterator<char>(file), {});
    }
  }

  void write(std::string_view input) {
    const auto parts = parts_of(input, kNames.size());
    for (size_t i = 0; i < kNames.size(); ++i) {
      const std::string_view content = parts[i].empty() ? golden_[i] : parts[i];
      if (content == written_[i]) continue;
      std::ofstream(path() / kNames[i], std::ios::binary) << content;
      written_[i] = content;
    }
  }
  [[nodiscard]] std::filesystem::path path() const { return root() / "trace"; }
  // Beside the trace.
  [[nodiscard]] const std::filesystem::path& root() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
  std::array<std::string, kNames.size()> golden_, written_;
};

}  // namespace ktraced::fuzz
