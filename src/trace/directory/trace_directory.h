// SPDX-License-Identifier: BSD-2-Clause
// Opens the files of a trace directory so that none of them can harm the reader.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

// Does anything with this name exist, even a dangling link?
[[nodiscard]] bool path_exists(const std::filesystem::path& path);
// The trace directory that a new file or directory `path` would be part of, links resolved; nothing
// if it is outside of all traces. Traces are finished: nobody may add to them.
[[nodiscard]] std::optional<std::filesystem::path> trace_around(const std::filesystem::path& path);

// The files of a trace that is in no file system, by their names: "manifest.json", "ctf/cpu0".
using UnpackedFiles = std::map<std::string, Fd>;

// An open directory; it stays the same one if it is renamed. Or the files of an unpacked archive,
// of which one at a time may be read as a stream. Move-only.
class TraceDirectory {
 public:
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

  // Follows a symbolic link, because the user has named it. Fails as unreadable() says.
  static Result<TraceDirectory> open(const std::filesystem::path& path);
  // The directory that an archive holds; `path` is that of the archive.
  static TraceDirectory unpacked(const std::filesystem::path& path, UnpackedFiles files);
  // A subdirectory, which must not be a link.
  [[nodiscard]] Result<TraceDirectory> subdirectory(const std::string& name) const;

  // Opens a regular file in it for reading. A FIFO, a device, a socket, a directory, a symbolic
  // link or a file of more than `max_bytes` fails with ExitCode::data, without blocking; everything
  // else fails as unreadable() says.
  [[nodiscard]] Result<Fd> open_file(const std::string& name,
                                     uint64_t max_bytes = UINT64_MAX) const;
  [[nodiscard]] Result<File> open_stream(const std::string& name, uint64_t max_bytes) const;

  // Does it have anything with this name?
  [[nodiscard]] bool contains(const std::string& name) const;
  // The names of its entries, the first `max` of them. Fails as unreadable() says.
  [[nodiscard]] Result<std::vector<std::string>> names(size_t max) const;
  // The directory, or of an archive the path of the archive, and below it as in a directory.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  TraceDirectory(std::filesystem::path path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  [[nodiscard]] Result<Fd> open_regular(const std::string& name) const;

  std::filesystem::path path_;
  Fd fd_;                                       // nothing: unpacked
  std::shared_ptr<const UnpackedFiles> files_;  // null: a directory
  std::string prefix_;                          // of the names in files_
};

// The error for an errno of opening `path`: ExitCode::data if the file is missing, no_permission,
// naming the group that has access, or io.
[[nodiscard]] Error unreadable(const std::filesystem::path& path, int error);

}  // namespace ktraced
