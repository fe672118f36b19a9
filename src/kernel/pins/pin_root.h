// SPDX-License-Identifier: BSD-2-Clause
// The daemon's own directory in a BPF file system.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/files/own_directory.h"

namespace ktraced {

// The directory of pins, held open: everything below is reached from its descriptor without
// following symbolic links, so that no other user can make us remove foreign files.
class PinRoot {
 public:
  static constexpr const char* kObjectPrefix = "object-";  // prefix of all object ids
  enum class IfMissing { make, fail };

  // Fails with ExitCode::unavailable if `path` is not in a BPF file system; with no_permission, and
  // the command that repairs it, if the directory is not ours: by its owner or its mode, or because
  // a link leads there. Fails with ExitCode::data if it is missing and may not be created. A
  // directory that others can only read gets mode 0700.
  // `cleanup` is the command that removes what is pinned there, for messages.
  static Result<std::shared_ptr<const PinRoot>> open(const std::filesystem::path& path,
                                                     IfMissing if_missing,
                                                     std::string cleanup = "ktraced --cleanup");

  [[nodiscard]] int fd() const { return directory_.get(); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] const std::string& cleanup() const { return cleanup_; }

  // Excludes other daemons while it is held. Fails with ExitCode::unavailable if another one holds
  // it.
  [[nodiscard]] Result<DirectoryLock> lock() const;
  // Ids of all objects in it; entries with other names are not ours. Fails with ExitCode::io if the
  // directory cannot be read, for example without a free descriptor.
  [[nodiscard]] Result<std::vector<std::string>> objects() const;
  // Removes the directory of the object with that id, with all that is in it. Fails with
  // ExitCode::io as objects(): parts of it are then left.
  [[nodiscard]] Result<> remove_object(const std::string& id) const;
  // Removes the directory if it contains only the lock, which the caller holds.
  void remove_if_empty() const;

 private:
  PinRoot(std::filesystem::path path, std::string cleanup, Fd parent, Fd directory)
      : path_(std::move(path)),
        cleanup_(std::move(cleanup)),
        parent_(std::move(parent)),
        directory_(std::move(directory)) {}

  std::filesystem::path path_;
  std::string cleanup_;
  Fd parent_;
  Fd directory_;
};

}  // namespace ktraced
