// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/partial_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/files/own_directory.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

// A new directory in `parent`, and not what another process may put in its place.
Result<Fd> make_new_directory(int parent, const fs::path& name, const fs::path& path) {
  if (::mkdirat(parent, name.c_str(), 0750) != 0)
    return io_failure("make the directory", path, errno);
  Fd directory(::openat(parent, name.c_str(), kDirectoryFlags | O_NOFOLLOW));
  struct stat status{};
  if (!directory || ::fstat(directory.get(), &status) != 0)
    return io_failure("open the directory", path, errno);
  if (status.st_uid != ::geteuid()) return io_failure("open the directory", path, EPERM);
  return directory;
}

// Some file systems refuse it: then the file has the time of the clock.
void set_modified(int fd, uint64_t ns) {
  constexpr uint64_t kSecond = 1'000'000'000;
  const std::array<timespec, 2> times = {
      {{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
       {.tv_sec = static_cast<time_t>(ns / kSecond), .tv_nsec = static_cast<long>(ns % kSecond)}}};
  static_cast<void>(::futimens(fd, times.data()));
}

}  // namespace

std::unexpected<Error> io_failure(const char* doing, const fs::path& path, int error) {
  return fail(ExitCode::io, "cannot {} {}: {}", doing, path.string(), errno_text(error));
}

Result<> write_parts(int fd, std::span<iovec> parts, const fs::path& path) {
  while (!parts.empty()) {
    if (parts.front().iov_len == 0) {
      parts = parts.subspan(1);
      continue;
    }
    const ssize_t written = ::writev(fd, parts.data(), static_cast<int>(parts.size()));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return io_failure("write", path, errno);
    auto left = static_cast<size_t>(written);
    for (iovec& part : parts) {
      const size_t here = std::min(left, part.iov_len);
      part.iov_base = static_cast<std::byte*>(part.iov_base) + here;
      part.iov_len -= here;
      left -= here;
    }
  }
  return {};
}

iovec iovec_of(std::span<const std::byte> bytes) {
  return {.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
}

fs::path PartialDirectory::partial_of(const fs::path& path) {
  return path.string() + kPartialSuffix;
}

PartialDirectory::PartialDirectory(fs::path path, fs::path subdirectory, Fd parent)
    : path_(std::move(path)),
      partial_(partial_of(path_)),
      subdirectory_name_(std::move(subdirectory)),
      parent_(std::move(parent)) {}

PartialDirectory::~PartialDirectory() {
  if (!is_ours_) return;
  std::error_code ignored;
  const bool have_proc = fs::exists(path_in(parent_.get(), "."), ignored);
  fs::remove_all(have_proc ? path_in(parent_.get(), partial_.filename()) : partial_, ignored);
}

fs::path PartialDirectory::parent_path() const {
  return path_.has_parent_path() ? path_.parent_path() : fs::path(".");
}

Result<> PartialDirectory::make() {
  if (!parent_) parent_ = Fd(::open(parent_path().c_str(), kDirectoryFlags));
  if (!parent_) return io_failure("open the directory", parent_path(), errno);
  auto directory = make_new_directory(parent_.get(), partial_.filename(), partial_);
  if (!directory) return propagate(directory);
  directory_ = std::move(*directory);
  is_ours_ = true;
  auto subdirectory =
      make_new_directory(directory_.get(), subdirectory_name_, partial_ / subdirectory_name_);
  if (!subdirectory) return propagate(subdirectory);
  subdirectory_ = std::move(*subdirectory);
  return {};
}

Result<> PartialDirectory::write(const char* name, std::string_view text,
                                 std::optional<uint64_t> modified_ns) const {
  constexpr const char* kGrowing = ".new";
  const fs::path path = partial_ / name;
  Fd fd(::openat(subdirectory_.get(), kGrowing,
                 O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0640));
  if (!fd) return io_failure("create", path, errno);
  std::array parts = {iovec_of(std::as_bytes(std::span(text)))};
  Result<> done = write_parts(fd.get(), parts, path);
  if (modified_ns) set_modified(fd.get(), *modified_ns);
  if (done && ::fsync(fd.get()) != 0) done = io_failure("sync", path, errno);
  if (done && ::renameat(subdirectory_.get(), kGrowing, directory_.get(), name) != 0)
    done = io_failure("create", path, errno);
  if (!done) ::unlinkat(subdirectory_.get(), kGrowing, 0);
  return done;
}

Result<Fd> PartialDirectory::create(const fs::path& name) const {
  Fd fd(::openat(subdirectory_.get(), name.c_str(),
                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640));
  if (!fd) return io_failure("create", partial_ / subdirectory_name_ / name, errno);
  return fd;
}

Result<> PartialDirectory::finish() {
  if (::fsync(subdirectory_.get()) != 0 || ::fsync(directory_.get()) != 0)
    return io_failure("sync", partial_, errno);
  if (::renameat(parent_.get(), partial_.filename().c_str(), parent_.get(),
                 path_.filename().c_str()) != 0)
    return io_failure("rename", partial_, errno);
  is_ours_ = false;
  if (::fsync(parent_.get()) != 0) return io_failure("sync", parent_path(), errno);
  return {};
}

}  // namespace ktraced
