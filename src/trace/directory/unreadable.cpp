// SPDX-License-Identifier: BSD-2-Clause
#include "trace/directory/unreadable.h"

#include <grp.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>

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

// Of `path` and its parent directories, the innermost whose status can be read is the one that
// denies access: the status of its entries cannot be read.
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

}  // namespace

Error unreadable(const fs::path& path, int error) {
  if (error == ELOOP) return {ExitCode::data, fmt::format("{} is a symbolic link", path.string())};
  if (error == ENOENT) return {ExitCode::data, fmt::format("{} is missing", path.string())};
  if (error == EACCES || error == EPERM)
    return {ExitCode::no_permission,
            fmt::format("no permission to read {}: run as {}", path.string(), who_may(path))};
  return {ExitCode::io, fmt::format("cannot open {}: {}", path.string(), errno_text(error))};
}

}  // namespace ktraced
