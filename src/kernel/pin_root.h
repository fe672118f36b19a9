// SPDX-License-Identifier: BSD-2-Clause
// The daemon's own directory in a BPF file system.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/own_directory.h"

namespace ktraced {

// Holds the directory open: everything below is reached from its descriptor, and no symbolic link
// is ever followed, so that nobody can have other files than ours removed.
class PinRoot {
 public:
  static constexpr const char* kObjectPrefix = "object-";  // of all ids
  enum class IfMissing { make, fail };

  // Fails with ExitCode::unavailable if `path` is not in a BPF file system; with no_permission,
  // and the command that repairs it, if the directory is not ours: by its owner or its mode, or
  // because a link leads there. With data if it is missing, and shall not be made. One that others
  // can only read becomes mode 0700.
  static Result<std::shared_ptr<const PinRoot>> open(const std::filesystem::path& path,
                                                     IfMissing if_missing);

  [[nodiscard]] int fd() const { return directory_.get(); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  // Keeps other daemons out for as long as it is held. Fails with ExitCode::unavailable if one
  // holds it.
  [[nodiscard]] Result<DirectoryLock> lock() const;
  // Ids of all objects in it: what has another name is not ours.
  [[nodiscard]] std::vector<std::string> objects() const;
  // Unpins an object of that id, whatever there is of it.
  void remove_object(const std::string& id) const;
  // Removes the directory if nothing is left in it but the lock, which the caller holds.
  void remove_if_empty() const;

 private:
  PinRoot(std::filesystem::path path, Fd parent, Fd directory)
      : path_(std::move(path)), parent_(std::move(parent)), directory_(std::move(directory)) {}

  std::filesystem::path path_;
  Fd parent_;
  Fd directory_;
};

}  // namespace ktraced
