// SPDX-License-Identifier: BSD-2-Clause
// A trace directory made from an input.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz/recorded.h"

namespace ktraced::fuzz {

// Its files are the parts of an input; an empty part is that of the golden trace.
class TraceFiles {
 public:
  static constexpr std::array kNames = {"manifest.json", "tasks.json",   "caches.json",
                                        "cgroups.json",  "symbols.json", "ctf/cpu0",
                                        "ctf/cpu1"};

  TraceFiles() {
    std::string name = std::filesystem::temp_directory_path() / "ktraced_fuzz_XXXXXX";
    require(::mkdtemp(name.data()) != nullptr, "there is a temporary directory");
    root_ = name;
    std::filesystem::create_directories(path() / "ctf");
    for (size_t i = 0; i < kNames.size(); ++i) {
      std::ifstream file(kGoldenTrace / kNames[i], std::ios::binary);
      golden_[i] = std::string(std::istreambuf_iterator<char>(file), {});
    }
  }
  TraceFiles(const TraceFiles&) = delete;
  TraceFiles& operator=(const TraceFiles&) = delete;
  ~TraceFiles() { std::filesystem::remove_all(root_); }

  void write(std::string_view input) {
    const auto parts = parts_of(input, kNames.size());
    for (size_t i = 0; i < kNames.size(); ++i) {
      const std::string_view content = parts[i].empty() ? golden_[i] : parts[i];
      if (content == written_[i]) continue;
      std::ofstream(path() / kNames[i], std::ios::binary) << content;
      written_[i] = content;
    }
  }
  [[nodiscard]] std::filesystem::path path() const { return root_ / "trace"; }
  // Beside the trace.
  [[nodiscard]] std::filesystem::path root() const { return root_; }

 private:
  std::filesystem::path root_;
  std::array<std::string, kNames.size()> golden_, written_;
};

}  // namespace ktraced::fuzz
