// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/own_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace ktraced {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kWritableByOthers = S_IWGRP | S_IWOTH;
constexpr mode_t kForOthers = S_IRWXG | S_IRWXO;
// A holder that releases a lock removes its file, so taking the lock may need another attempt.
constexpr int kLockAttempts = 10;

std::unexpected<Error> writable_by_others(const fs::path& path, mode_t mode) {
  return fail(ExitCode::no_permission,
              "others can write to {} (mode {:04o}): repair it with 'chmod go-w {}'", path.string(),
              mode & 07777U, path.string());
}

std::unexpected<Error> cannot_lock(const fs::path& path, int error) {
  const bool refused = error == EACCES || error == EPERM || error == EROFS;
  return fail(refused ? ExitCode::no_permission : ExitCode::io,
              "cannot make the lock file {}: {}{}", path.string(), errno_text(error),
              error == ELOOP || error == ENOTDIR || error == EISDIR
                  ? "; it is not ktraced's own: remove it"
                  : "");
}

// Status of `name` in the directory, without following links; st_ino is 0 if it does not exist.
struct stat status_at(int directory, const std::string& name) {
  struct stat status{};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) status = {};
  return status;
}

bool is_same(int fd, const struct stat& other) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 && status.st_dev == other.st_dev &&
         status.st_ino == other.st_ino;
}

// A directory, which may have to be mounted first, or a link. Invalid with errno if it cannot be
// opened.
Fd open_name(int directory, const fs::path& name) {
  constexpr int kFlags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  Fd fd(::openat(directory, name.c_str(), kFlags | O_DIRECTORY));
  if (!fd && (errno == ENOTDIR || errno == ELOOP))
    fd = Fd(::openat(directory, name.c_str(), kFlags));
  return fd;
}

Fd open_lock(int directory, const std::string& name, DirectoryLock::Kind kind) {
  constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  if (kind == DirectoryLock::Kind::file)
    return Fd(::openat(directory, name.c_str(), O_RDONLY | O_CREAT | kFlags, 0600));
  if (::mkdirat(directory, name.c_str(), 0700) != 0 && errno != EEXIST) return {};
  return Fd(::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | kFlags));
}

// Refuses a lock file that other users can open: they could lock it at any time.
Result<> check_lock(int lock, const fs::path& path) {
  struct stat status{};
  if (::fstat(lock, &status) != 0)
    return fail(ExitCode::io, "cannot look at {}: {}", path.string(), errno_text(errno));
  if (status.st_uid == ::geteuid() && (status.st_mode & kForOthers) == 0 &&
      (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)))
    return {};
  return fail(ExitCode::no_permission,
              "{} is no lock of ktraced's own (uid {}, mode {:04o}): remove it with 'rm -r {}'",
              path.string(), status.st_uid, status.st_mode & 07777U, path.string());
}

}  // namespace

bool is_of_root_or_us(const struct stat& status) {
  return status.st_uid == 0 || status.st_uid == ::geteuid();
}

Result<Fd> open_directory_at(int parent, const std::string& name, const fs::path& path) {
  Fd fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd) return fd;
  if (errno == ENOENT) return fail(ExitCode::data, "{} is missing", path.string());
  if (errno == ENOTDIR || errno == ELOOP)
    return fail(ExitCode::no_permission,
                "{} is a symbolic link, or no directory, and is not followed: remove it with "
                "'rm {}', or set another directory",
                path.string(), path.string());
  const bool refused = errno == EACCES || errno == EPERM;
  return fail(refused ? ExitCode::no_permission : ExitCode::os, "cannot open {}: {}", path.string(),
              errno_text(errno));
}

Result<Fd> make_directory_at(int parent, const std::string& name, const fs::path& path) {
  if (::mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST)
    return fail(ExitCode::os, "cannot make {}: {}", path.string(), errno_text(errno));
  return open_directory_at(parent, name, path);
}

Result<ExistingPart> open_existing_part(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  ExistingPart part{
      .directory = Fd(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), .path = "/", .missing = {}};
  if (!part.directory) return fail(ExitCode::os, "cannot open /: {}", errno_text(errno));
  for (const fs::path& name : normal.relative_path()) {
    if (name.empty()) continue;  // behind the last '/'
    if (part.missing.empty()) {
      auto next = open_directory_at(part.directory.get(), name, part.path / name);
      if (!next && next.error().code != ExitCode::data) return propagate(next);
      if (next) {
        part.directory = std::move(*next);
        part.path /= name;
        continue;
      }
    }
    part.missing /= name;
  }
  return part;
}

Result<Fd> open_trusted_directory(const fs::path& path, Missing missing) {
  constexpr int kLinksMax = 40;  // as the kernel
  const auto failure = [&path](int error) {
    return fail(ExitCode::io, "cannot open {}: {}", path.string(), errno_text(error));
  };
  Fd directory(::open(path.is_absolute() ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::vector<fs::path> names;  // to be opened, the last one first
  const auto add_names = [&names](const fs::path& of) {
    const fs::path relative = of.relative_path();
    names.insert(names.end(), std::make_reverse_iterator(relative.end()),
                 std::make_reverse_iterator(relative.begin()));
  };
  add_names(path);
  for (int links = 0; !names.empty();) {
    const fs::path name = std::move(names.back());
    names.pop_back();
    if (name.empty()) continue;  // behind the last '/'
    Fd next = open_name(directory.get(), name);
    if (!next && errno == ENOENT && missing == Missing::is_made) {
      struct stat above{};
      if (::fstat(directory.get(), &above) != 0 || !is_of_root_or_us(above))
        return fail(ExitCode::no_permission,
                    "cannot make the directory {}: another user owns one above it; make it, with "
                    "the owner and the mode that it is to have",
                    path.string());
      if (::mkdirat(directory.get(), name.c_str(), 0777) != 0 && errno != EEXIST)
        return fail(ExitCode::io, "cannot make the directory {}: {}", path.string(),
                    errno_text(errno));
      next = open_name(directory.get(), name);
    }
    struct stat status{};
    if (!next || ::fstat(next.get(), &status) != 0) return failure(errno);
    if (!S_ISLNK(status.st_mode)) {
      directory = std::move(next);
      continue;
    }
    if (!is_of_root_or_us(status))
      return fail(ExitCode::no_permission,
                  "'{}' in {} is a symbolic link of uid {}, which is not followed: use the path "
                  "that it leads to",
                  name.string(), path.string(), status.st_uid);
    std::array<char, PATH_MAX> target{};
    if (++links > kLinksMax) return failure(ELOOP);
    const ssize_t size = ::readlinkat(next.get(), "", target.data(), target.size());
    if (size < 0) return failure(errno);
    const fs::path to(std::string_view(target.data(), static_cast<size_t>(size)));
    if (to.is_absolute()) directory = Fd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    add_names(to);
  }
  Fd opened(::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return failure(errno);
  return opened;
}

fs::path path_in(int directory, const fs::path& name) {
  return fs::path("/proc/self/fd") / std::to_string(directory) / name;
}

Result<> check_own_directory(int directory, const fs::path& path) {
  struct stat status{};
  if (::fstat(directory, &status) != 0)
    return fail(ExitCode::os, "cannot look at {}: {}", path.string(), errno_text(errno));
  if (status.st_uid != ::geteuid())
    return fail(
        ExitCode::no_permission,
        "{} belongs to uid {}, but ktraced runs as uid {}: run it as that user, use another "
        "directory, or remove this one with 'rm -r {}'",
        path.string(), status.st_uid, ::geteuid(), path.string());
  if ((status.st_mode & kWritableByOthers) != 0) return writable_by_others(path, status.st_mode);
  return {};
}

Result<> check_shared_directory(int directory, const fs::path& path) {
  struct stat status{};
  if (::fstat(directory, &status) != 0)
    return fail(ExitCode::os, "cannot look at {}: {}", path.string(), errno_text(errno));
  if (!is_of_root_or_us(status))
    return fail(
        ExitCode::no_permission,
        "{} belongs to uid {}, but ktraced runs as uid {}: run it as that user, use another "
        "directory, or repair this one with 'chown {} {}'",
        path.string(), status.st_uid, ::geteuid(), ::geteuid(), path.string());
  if ((status.st_mode & kWritableByOthers) != 0 && (status.st_mode & S_ISVTX) == 0)
    return writable_by_others(path, status.st_mode);
  return {};
}

Result<Fd> open_shared_directory(const fs::path& path) {
  auto directory = open_trusted_directory(path);
  if (!directory) return directory;
  if (auto checked = check_shared_directory(directory->get(), path); !checked)
    return propagate(checked);
  return directory;
}

Result<DirectoryLock> DirectoryLock::take(Fd directory, const fs::path& path,
                                          const std::string& name, Kind kind) {
  DirectoryLock lock;
  lock.directory_ = std::move(directory);
  lock.name_ = name;
  lock.kind_ = kind;
  for (int attempt = 0; attempt < kLockAttempts; ++attempt) {
    Fd file = open_lock(lock.directory_.get(), name, kind);
    if (!file) return cannot_lock(path / name, errno);
    if (auto checked = check_lock(file.get(), path / name); !checked) return propagate(checked);
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) break;
    lock.file_ = std::move(file);
    if (lock.held()) return lock;
    lock.file_.reset();  // its holder has just removed it
  }
  return std::unexpected(Error{ExitCode::unavailable, {}});
}

DirectoryLock& DirectoryLock::operator=(DirectoryLock&& other) noexcept {
  if (this == &other) return *this;
  release();
  directory_ = std::move(other.directory_);
  file_ = std::move(other.file_);
  name_ = std::move(other.name_);
  kind_ = other.kind_;
  return *this;
}

bool DirectoryLock::held() const {
  return file_ && is_same(file_.get(), status_at(directory_.get(), name_));
}

bool DirectoryLock::held_in(int directory) const {
  struct stat status{};
  return held() && ::fstat(directory, &status) == 0 && is_same(directory_.get(), status);
}

void DirectoryLock::release() {
  if (held())
    ::unlinkat(directory_.get(), name_.c_str(), kind_ == Kind::directory ? AT_REMOVEDIR : 0);
  file_.reset();
  directory_.reset();
}

}  // namespace ktraced
