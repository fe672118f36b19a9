// SPDX-License-Identifier: BSD-2-Clause
// A temporary directory, removed with its content.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace ktraced::live {

class TempDir {
 public:
  TempDir() {
    std::string name = "/tmp/ktraced-live-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
    // Programs that run as another user must reach the socket in it.
    std::filesystem::permissions(path_, std::filesystem::perms(0755));
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Writes a file into it and returns its path.
  [[nodiscard]] std::string file(const std::string& name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::trunc) << text;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace ktraced::live
