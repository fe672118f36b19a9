// SPDX-License-Identifier: BSD-2-Clause
// Directories that nobody else can plant anything in, and locks that nobody else can hold.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

// The part of an absolute path that is there.
struct ExistingPart {
  Fd directory;                   // to be named in the *at() calls
  std::filesystem::path path;     // its path
  std::filesystem::path missing;  // the rest; empty: all is there
};

// Opens `path` step by step, and follows no symbolic link: a link, and what is no directory, is an
// error of ExitCode::no_permission that says how to remove it.
[[nodiscard]] Result<ExistingPart> open_existing_part(const std::filesystem::path& path);

// Opens a directory in `parent`, never behind a link. Fails as above, or with ExitCode::data if
// there is none.
[[nodiscard]] Result<Fd> open_directory_at(int parent, const std::string& name,
                                           const std::filesystem::path& path);
// The same; makes it, of mode 0700, if it is missing. Fails with ExitCode::os if it cannot.
[[nodiscard]] Result<Fd> make_directory_at(int parent, const std::string& name,
                                           const std::filesystem::path& path);

// Fails with ExitCode::no_permission, with the command that repairs it, unless the directory is
// ours (effective uid) and only we can write to it.
[[nodiscard]] Result<> check_own_directory(int directory, const std::filesystem::path& path);
// The same for one that something of ours lies in: it may be root's, and others may write to it if
// it is sticky, so that they cannot rename what is ours.
[[nodiscard]] Result<> check_shared_directory(int directory, const std::filesystem::path& path);

// A lock of a directory that is held until the object, or the process, goes. What is locked is a
// file of mode 0600 in it (in a BPF file system, which has no files: a directory of mode 0700):
// the directory itself could be locked by everybody who can read it.
class DirectoryLock {
 public:
  enum class Kind { file, directory };

  // Holds nothing.
  DirectoryLock() = default;
  // `name` of the file in the directory. Fails with ExitCode::unavailable, and an empty message,
  // if another one holds the lock; with no_permission if the lock file is not ours; or if there
  // is no permission to make it; or with io.
  [[nodiscard]] static Result<DirectoryLock> take(Fd directory, const std::filesystem::path& path,
                                                  const std::string& name, Kind kind);
  DirectoryLock(DirectoryLock&& other) noexcept = default;
  DirectoryLock& operator=(DirectoryLock&& other) noexcept;
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  ~DirectoryLock() { release(); }

  // Removes the file too.
  void release();
  // Is the file still there, so that others see it?
  [[nodiscard]] bool held() const;
  // Is it, and is the directory still the one at `path`?
  [[nodiscard]] bool held_in(const std::filesystem::path& path) const;

 private:
  Fd directory_;
  Fd file_;
  std::string name_;
  Kind kind_ = Kind::file;
};

}  // namespace ktraced
