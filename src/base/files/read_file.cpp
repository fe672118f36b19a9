// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string_view>

namespace ktraced {
namespace {

constexpr size_t kFirstBytes = 4096;  // files of the kernel do not report their size

std::unexpected<Error> cannot_open(const std::string& name, int error) {
  if (error == ENOENT || error == ENOTDIR || error == ESRCH)
    return fail(ExitCode::data, "cannot open {}: {}", name, errno_text(error));
  const bool refused = error == EACCES || error == EPERM;
  return fail(refused ? ExitCode::no_permission : ExitCode::io, "cannot open {}: {}", name,
              errno_text(error));
}

std::unexpected<Error> too_long(const std::string& name, size_t max_bytes) {
  return fail(ExitCode::io, "cannot read {}: it has more than {} bytes", name, max_bytes);
}

Result<Fd> open_file_at(int directory, const std::string& name) {
  auto file = open_regular_at(directory, name);
  if (file) return std::move(*file);
  if (const auto [error, mode] = file.error(); error == 0)
    return fail(ExitCode::io, "cannot read {}: it is {}, not a file", name, kind_of_file(mode));
  return cannot_open(name, file.error().error);
}

// `size_hint` is the expected size in bytes; the file may be shorter or longer.
Result<std::string> read_all(const Fd& file, const std::string& name, size_t size_hint,
                             size_t max_bytes) {
  // One byte more than expected: the read that finds the end needs no larger buffer.
  std::string text(std::min(max_bytes, std::max(size_hint, kFirstBytes)) + 1, '\0');
  size_t length = 0;
  while (true) {
    const ssize_t got = ::read(file.get(), text.data() + length, text.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      // The process of a file in /proc has ended.
      const ExitCode code = errno == ESRCH ? ExitCode::data : ExitCode::io;
      return fail(code, "cannot read {}: {}", name, errno_text(errno));
    }
    length += static_cast<size_t>(got);
    if (length > max_bytes) return too_long(name, max_bytes);
    if (got == 0) break;
    if (length == text.size()) text.resize(std::min(2 * length, max_bytes + 1));
  }
  text.resize(length);
  return text;
}

}  // namespace

std::expected<Fd, NotOpened> open_regular_at(int directory, const std::string& name, int flags) {
  struct stat status{};
  const int at_flags = (flags & O_NOFOLLOW) != 0 ? AT_SYMLINK_NOFOLLOW : 0;
  if (::fstatat(directory, name.c_str(), &status, at_flags) != 0)
    return std::unexpected(NotOpened{.error = errno});
  if (!S_ISREG(status.st_mode)) return std::unexpected(NotOpened{.mode = status.st_mode});
  Fd file(::openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags));
  if (!file || ::fstat(file.get(), &status) != 0) return std::unexpected(NotOpened{.error = errno});
  // Another file may have replaced the one whose kind was checked.
  if (!S_ISREG(status.st_mode)) return std::unexpected(NotOpened{.mode = status.st_mode});
  return file;
}

// O_PATH finds a file without opening it. The link in /proc leads to this file, whatever has its
// name now.
std::expected<Fd, NotOpened> open_expected_at(
    int directory, const std::string& name,
    const std::function<bool(const struct stat& status)>& is_expected, int flags) {
  const Fd found(::openat(directory, name.c_str(), O_PATH | O_CLOEXEC | flags));
  struct stat status{};
  if (!found || ::fstat(found.get(), &status) != 0)
    return std::unexpected(NotOpened{.error = errno});
  if (!S_ISREG(status.st_mode) || !is_expected(status))
    return std::unexpected(NotOpened{.mode = status.st_mode});
  Fd file(::open(fmt::format("/proc/self/fd/{}", found.get()).c_str(),
                 O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return std::unexpected(NotOpened{.error = errno});
  return file;
}

std::string_view kind_of_file(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "no regular file";
}

Result<std::string> read_file_at(int directory, const std::string& name, size_t max_bytes) {
  auto file = open_file_at(directory, name);
  if (!file) return propagate(file);
  struct stat status{};
  if (::fstat(file->get(), &status) != 0) return cannot_open(name, errno);
  const auto size = static_cast<uint64_t>(std::max<off_t>(status.st_size, 0));
  if (size > max_bytes) return too_long(name, max_bytes);
  return read_all(*file, name, static_cast<size_t>(size), max_bytes);
}

Result<Fd> open_file(const std::filesystem::path& path) {
  return open_file_at(AT_FDCWD, path.string());
}

Result<std::string> read_file(const std::filesystem::path& path, size_t max_bytes) {
  return read_file_at(AT_FDCWD, path.string(), max_bytes);
}

}  // namespace ktraced
