// SPDX-License-Identifier: BSD-2-Clause
// Directories that no other user can write to, and locks that no other user can hold.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

// The part of an absolute path that exists.
struct ExistingPart {
  Fd directory;                   // for the *at() calls
  std::filesystem::path path;     // its path
  std::filesystem::path missing;  // the rest; empty: the whole path exists
};

// Opens `path` component by component, without following symbolic links. A link or a non-directory
// fails with ExitCode::no_permission; the message names the command that removes it.
[[nodiscard]] Result<ExistingPart> open_existing_part(const std::filesystem::path& path);

// Opens the directory `name` in `parent` without following a link. Fails with ExitCode::data if it
// does not exist, or as open_existing_part(). `path`: its path, for messages.
[[nodiscard]] Result<Fd> open_directory_at(int parent, const std::string& name,
                                           const std::filesystem::path& path);
// Opens the directory `name` in `parent` as open_directory_at() does, but creates a missing one
// with mode 0700. Fails with ExitCode::os if it cannot.
[[nodiscard]] Result<Fd> make_directory_at(int parent, const std::string& name,
                                           const std::filesystem::path& path);

enum class Missing { is_an_error, is_made };
// Opens a directory by its path, following only those symbolic links that root or we (effective
// uid) have made: who owns a directory above it cannot lead us elsewhere. With Missing::is_made,
// makes what is missing, as mkdir(2) with mode 0777, in directories of root and our own only: the
// owner of another one chooses who reads what is made there. Fails with ExitCode::no_permission at
// a link or a directory of another user, or with io.
[[nodiscard]] Result<Fd> open_trusted_directory(const std::filesystem::path& path,
                                                Missing missing = Missing::is_an_error);

// The path of `name` in an open directory, for functions that take paths. Valid while it is open.
[[nodiscard]] std::filesystem::path path_in(int directory, const std::filesystem::path& name);

// Does a file belong to root or to us (effective uid)?
[[nodiscard]] bool is_of_root_or_us(const struct stat& status);

// Fails with ExitCode::no_permission, with the command that repairs it, unless the directory is
// ours (effective uid) and only we can write to it.
[[nodiscard]] Result<> check_own_directory(int directory, const std::filesystem::path& path);
// Checks a directory that contains files of ours. It may belong to root, and others may write to it
// if it is sticky: then they cannot rename our files. Fails as check_own_directory().
[[nodiscard]] Result<> check_shared_directory(int directory, const std::filesystem::path& path);
// open_trusted_directory() and check_shared_directory().
[[nodiscard]] Result<Fd> open_shared_directory(const std::filesystem::path& path);

// A lock of a directory, held until the object is destroyed or the process ends. It locks a file of
// mode 0600 in the directory (a BPF file system has no files: there it is a directory of mode
// 0700). Every user who can read the directory could lock the directory itself.
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
  // Does the file still exist, so that others see the lock?
  [[nodiscard]] bool held() const;
  // Does it, and is it in this open directory?
  [[nodiscard]] bool held_in(int directory) const;

 private:
  Fd directory_;
  Fd file_;
  std::string name_;
  Kind kind_ = Kind::file;
};

}  // namespace ktraced
