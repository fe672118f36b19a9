// SPDX-License-Identifier: BSD-2-Clause
// A file without a name, for data that is needed later.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "ctl/terminal/output_target.h"

namespace ktraced {

// Directories for temporary files, the best one first: /tmp may be in memory.
inline constexpr std::array kTemporaryDirectories{"/var/tmp", "/tmp"};

// The directory for temporary files: TMPDIR, unless it is unset or empty; else the first of
// `directories` in which the user may make files. A TMPDIR that cannot be used is returned as it
// is, and so is the first of `directories` when none can be used: SpoolFile::create() then fails
// and names it.
[[nodiscard]] std::filesystem::path temporary_directory(
    std::span<const char* const> directories = kTemporaryDirectories);

// A temporary file that is gone when it is closed, also after a crash. Move-only.
class SpoolFile {
 public:
  // In `directory`. Fails with ExitCode::io.
  static Result<SpoolFile> create(const std::filesystem::path& directory);

  // Fails with ExitCode::io, as when the disk is full.
  [[nodiscard]] Result<> append(std::string_view bytes);
  // Makes it so long, with a hole of zeros at its end, which takes no space on most file systems.
  // Fails with ExitCode::io.
  [[nodiscard]] Result<> extend(uint64_t bytes);
  [[nodiscard]] uint64_t bytes() const { return bytes_; }
  // The file itself.
  [[nodiscard]] Fd release() && { return std::move(fd_); }
  // Writes its content to `target`, with bounded memory.
  [[nodiscard]] Result<> copy_to(OutputTarget& target) const;

 private:
  SpoolFile(std::filesystem::path directory, Fd fd)
      : directory_(std::move(directory)), fd_(std::move(fd)) {}

  std::filesystem::path directory_;
  Fd fd_;
  uint64_t bytes_ = 0;
};

}  // namespace ktraced
