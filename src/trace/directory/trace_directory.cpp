// SPDX-License-Identifier: BSD-2-Clause
#include "trace/directory/trace_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "base/files/read_file.h"
#include "trace/directory/trace_files.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

std::string name_of_group(gid_t gid) {
  std::array<char, 4096> buffer{};
  group entry{};
  group* found = nullptr;
  if (::getgrgid_r(gid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return std::to_string(gid);
  return found->gr_name;
}

// Names who may read the innermost of `path` and its parent directories whose status can be read.
// That one denies access, because the status of its entries cannot be read.
std::string who_may(fs::path path) {
  struct stat status{};
  while (::stat(path.c_str(), &status) != 0) {
    fs::path parent = path.parent_path();
    if (parent.empty()) parent = ".";
    if (parent == path) return "root";
    path = std::move(parent);
  }
  const mode_t needed = S_ISDIR(status.st_mode) ? S_IRGRP | S_IXGRP : S_IRGRP;
  if (status.st_gid == 0 || (status.st_mode & needed) != needed) return "root";
  return fmt::format("root or as a member of the group '{}'", name_of_group(status.st_gid));
}

std::unexpected<Error> not_opened(const fs::path& path, const NotOpened& why) {
  if (why.error != 0) return std::unexpected(unreadable(path, why.error));
  return fail(ExitCode::data, "{} is {}, not a regular file", path.string(),
              kind_of_file(why.mode));
}

// Does the directory have anything with this name?
bool exists_at(int directory, const fs::path& name) {
  struct stat status{};
  return ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

// Web pages and packages have files of the name manifest.json, too, but no packets beside them.
bool is_trace(const fs::path& directory) {
  std::error_code unknown;
  return path_exists(directory / kManifestFile) &&
         fs::is_directory(directory / kPacketDirectory, unknown);
}

}  // namespace

Error unreadable(const fs::path& path, int error) {
  if (error == ELOOP) return {ExitCode::data, fmt::format("{} is a symbolic link", path.string())};
  if (error == ENOENT) return {ExitCode::data, fmt::format("{} is missing", path.string())};
  if (error == EACCES || error == EPERM)
    return {ExitCode::no_permission,
            fmt::format("no permission to read {}: run as {}", path.string(), who_may(path))};
  return {ExitCode::io, fmt::format("cannot open {}: {}", path.string(), errno_text(error))};
}

bool path_exists(const fs::path& path) { return exists_at(AT_FDCWD, path); }

std::optional<fs::path> trace_around(const fs::path& path) {
  std::error_code unknown;
  const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  fs::path at = fs::weakly_canonical(parent, unknown);
  if (unknown) at = fs::absolute(parent, unknown).lexically_normal();
  if (unknown) return std::nullopt;
  for (;; at = at.parent_path()) {
    if (is_trace(at)) return at;
    if (!at.has_relative_path()) return std::nullopt;
  }
}

Result<TraceDirectory> TraceDirectory::open(const fs::path& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return std::unexpected(unreadable(path, errno));
  return TraceDirectory(path, std::move(fd));
}

TraceDirectory TraceDirectory::unpacked(const fs::path& path, UnpackedFiles files) {
  TraceDirectory directory(path, Fd());
  directory.files_ = std::make_shared<const UnpackedFiles>(std::move(files));
  return directory;
}

Result<TraceDirectory> TraceDirectory::subdirectory(const std::string& name) const {
  if (files_) {
    TraceDirectory directory(path_ / name, Fd());
    directory.files_ = files_;
    directory.prefix_ = prefix_ + name + "/";
    return directory;
  }
  Fd fd(::openat(fd_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd) return TraceDirectory(path_ / name, std::move(fd));
  // The kernel reports a link as ENOTDIR.
  if (errno == ENOTDIR || errno == ELOOP)
    return fail(ExitCode::data, "{} is not a directory", (path_ / name).string());
  return std::unexpected(unreadable(path_ / name, errno));
}

bool TraceDirectory::contains(const std::string& name) const {
  return files_ ? files_->contains(prefix_ + name) : exists_at(fd_.get(), name);
}

Result<std::vector<std::string>> TraceDirectory::names(size_t max) const {
  std::vector<std::string> found;
  if (files_) {
    for (const auto& [name, fd] : *files_)
      if (name.starts_with(prefix_) && found.size() < max)
        found.push_back(name.substr(prefix_.size()));
    return found;
  }
  Fd fd(::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return std::unexpected(unreadable(path_, errno));
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(fd.get()), &::closedir);
  if (!entries) return std::unexpected(unreadable(path_, errno));
  static_cast<void>(fd.release());
  while (found.size() < max) {
    errno = 0;
    const dirent* entry = ::readdir(entries.get());
    if (entry == nullptr && errno != 0) return std::unexpected(unreadable(path_, errno));
    if (entry == nullptr) break;
    const std::string name = static_cast<const char*>(entry->d_name);
    if (name != "." && name != "..") found.push_back(name);
  }
  return found;
}

Result<Fd> TraceDirectory::open_regular(const std::string& name) const {
  const fs::path file = path_ / name;
  if (!files_) {
    auto fd = open_regular_at(fd_.get(), name, O_NOFOLLOW);
    if (!fd) return not_opened(file, fd.error());
    return std::move(*fd);
  }
  const auto found = files_->find(prefix_ + name);
  if (found == files_->end()) return std::unexpected(unreadable(file, ENOENT));
  Fd fd(::fcntl(found->second.get(), F_DUPFD_CLOEXEC, 0));
  if (!fd || ::lseek(fd.get(), 0, SEEK_SET) != 0) return std::unexpected(unreadable(file, errno));
  return fd;
}

Result<Fd> TraceDirectory::open_file(const std::string& name, uint64_t max_bytes) const {
  const fs::path file = path_ / name;
  auto fd = open_regular(name);
  if (!fd) return propagate(fd);
  struct stat status{};
  if (::fstat(fd->get(), &status) != 0) return std::unexpected(unreadable(file, errno));
  if (const auto size = static_cast<uint64_t>(status.st_size); size > max_bytes)
    return fail(ExitCode::data, "{} is too large: it has {} bytes, at most {} are possible",
                file.string(), size, max_bytes);
  return fd;
}

Result<TraceDirectory::File> TraceDirectory::open_stream(const std::string& name,
                                                         uint64_t max_bytes) const {
  auto fd = open_file(name, max_bytes);
  if (!fd) return propagate(fd);
  File file(::fdopen(fd->get(), "r"), &std::fclose);
  if (!file) return std::unexpected(unreadable(path_ / name, errno));
  static_cast<void>(fd->release());
  return file;
}

}  // namespace ktraced
