// SPDX-License-Identifier: BSD-2-Clause
// The files of a trace directory, opened so that none of them can do the reader harm.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

// Is there something with this name, be it a link that leads nowhere?
[[nodiscard]] bool something_at(const std::filesystem::path& path);

// A directory that is open, by whatever name it is found later. Move-only.
class TraceDirectory {
 public:
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

  // Follows a symbolic link: the user has named it. Fails as unreadable() says.
  static Result<TraceDirectory> open(const std::filesystem::path& path);
  // A directory in this one, which must not be a link.
  [[nodiscard]] Result<TraceDirectory> subdirectory(const std::string& name) const;

  // A regular file in it, for reading. A FIFO, a device, a socket, a directory, a symbolic link,
  // and a file of more than `max_bytes`, fail with ExitCode::data, without waiting for anybody;
  // everything else as unreadable() says.
  [[nodiscard]] Result<Fd> open_file(const std::string& name,
                                     uint64_t max_bytes = UINT64_MAX) const;
  [[nodiscard]] Result<File> open_stream(const std::string& name, uint64_t max_bytes) const;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  TraceDirectory(std::filesystem::path path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::filesystem::path path_;
  Fd fd_;
};

}  // namespace ktraced
