// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/output/keep_mark.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/fd.h"
#include "base/files/own_directory.h"
#include "base/files/read_file.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

// With these errors there is no such file.
bool is_absent(int error) { return error == ENOENT || error == ENOTDIR || error == ELOOP; }

std::unexpected<Error> mark_failure(std::string_view what, const fs::path& path, int error) {
  const bool refused = error == EACCES || error == EPERM || error == EROFS;
  return fail(refused ? ExitCode::no_permission : ExitCode::io, "cannot {} {}: {}", what,
              path.string(), errno_text(error));
}

// What has the name of the mark must be one.
Result<> check_mark(int directory, const fs::path& path) {
  struct stat status{};
  if (::fstatat(directory, kKeepMark, &status, AT_SYMLINK_NOFOLLOW) != 0)
    return mark_failure("look at", path, errno);
  if (!S_ISREG(status.st_mode))
    return fail(ExitCode::data, "{} is {}, not a regular file: remove it", path.string(),
                kind_of_file(status.st_mode));
  if (!is_of_root_or_us(status))
    return fail(ExitCode::no_permission,
                "{} belongs to uid {}, neither to root nor to ktraced: remove it", path.string(),
                status.st_uid);
  return {};
}

// Opening with O_EXCL makes the file or fails: there is no state between.
Result<> make_mark(int directory, const fs::path& path) {
  const Fd mark(
      ::openat(directory, kKeepMark, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (mark) return {};
  if (errno == EEXIST) return check_mark(directory, path);
  return mark_failure("make", path, errno);
}

Result<> remove_mark(int directory, const fs::path& path) {
  if (::unlinkat(directory, kKeepMark, 0) == 0 || errno == ENOENT) return {};
  return mark_failure("remove", path, errno);
}

}  // namespace

std::optional<bool> has_keep_mark(const fs::path& trace) {
  const Fd directory(::open(trace.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  if (!directory || ::fstatat(directory.get(), kKeepMark, &status, AT_SYMLINK_NOFOLLOW) != 0)
    return is_absent(errno) ? std::optional(false) : std::nullopt;
  return S_ISREG(status.st_mode) && is_of_root_or_us(status);
}

Result<> set_keep_mark(const fs::path& trace, bool kept) {
  auto store = open_trusted_directory(trace.parent_path());
  if (!store) return propagate(store);
  const Fd directory(::openat(store->get(), trace.filename().c_str(),
                              O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory && is_absent(errno))
    return fail(ExitCode::data, "{} is not a directory", trace.string());
  if (!directory) return mark_failure("open", trace, errno);
  const fs::path path = trace / kKeepMark;
  auto done = kept ? make_mark(directory.get(), path) : remove_mark(directory.get(), path);
  if (!done) return done;
  if (::fsync(directory.get()) != 0) return mark_failure("sync", trace, errno);
  return {};
}

}  // namespace ktraced
