// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/pins/pin_root.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files/directory.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLock = "lock";  // names in a BPF file system have no dots

bool is_bpffs(int fd) {
  struct statfs info{};
  return ::fstatfs(fd, &info) == 0 && info.f_type == BPF_FS_MAGIC;
}

std::unexpected<Error> no_bpffs(const fs::path& path) {
  return fail(ExitCode::unavailable,
              "{} is not in a BPF file system: mount one with "
              "'mount -t bpf -o mode=0700 bpf /sys/fs/bpf'",
              path.string());
}

// The parent directory of `path`; creates missing ones.
Result<Fd> open_parent(const fs::path& path, PinRoot::IfMissing if_missing) {
  auto part = open_existing_part(path.parent_path());
  if (!part) return propagate(part);
  if (part->missing.empty()) return std::move(part->directory);
  if (!is_bpffs(part->directory.get())) return no_bpffs(path);
  if (if_missing == PinRoot::IfMissing::fail)
    return fail(ExitCode::data, "{} is missing", path.string());
  for (const fs::path& name : part->missing) {
    part->path /= name;
    auto next = make_directory_at(part->directory.get(), name, part->path);
    if (!next) return next;
    part->directory = std::move(*next);
  }
  return std::move(part->directory);
}

// Opens a directory to remove what is in it. Holds nothing for a link or another file.
Result<Fd> open_folder(int parent, const std::string& name) {
  Fd folder(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder && errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
    return fail(ExitCode::io, "cannot open the pinned {}: {}", name, errno_text(errno));
  return folder;
}

// Removes a directory with its content; of anything else, only the entry. Nobody pins directories
// in the folders of an object, but everybody who may write there can make some: they go too.
Result<> remove_folder(int parent, const std::string& name) {
  auto folder = open_folder(parent, name);
  if (!folder) return propagate(folder);
  if (*folder) {
    auto names = names_in(folder->get());
    if (!names) return propagate(names);
    for (const std::string& entry : *names)
      if (::unlinkat(folder->get(), entry.c_str(), 0) != 0 && errno == EISDIR)
        if (auto removed = remove_folder(folder->get(), entry); !removed) return removed;
  }
  ::unlinkat(parent, name.c_str(), *folder ? AT_REMOVEDIR : 0);
  return {};
}

}  // namespace

Result<std::shared_ptr<const PinRoot>> PinRoot::open(const fs::path& given, IfMissing if_missing,
                                                     std::string cleanup) {
  const fs::path path = (given / "").lexically_normal().parent_path();  // without a trailing '/'
  const std::string name = path.filename();
  if (name.empty()) return no_bpffs(given);
  auto parent = open_parent(path, if_missing);
  if (!parent) return propagate(parent);
  auto directory = open_directory_at(parent->get(), name, path);
  if (!directory && directory.error().code == ExitCode::data) {
    if (!is_bpffs(parent->get())) return no_bpffs(path);
    if (if_missing == IfMissing::fail) return propagate(directory);
    directory = make_directory_at(parent->get(), name, path);
  }
  if (!directory) return propagate(directory);
  if (!is_bpffs(directory->get())) return no_bpffs(path);
  if (auto shared = check_shared_directory(parent->get(), path.parent_path()); !shared)
    return propagate(shared);
  if (auto own = check_own_directory(directory->get(), path); !own) return propagate(own);
  if (::fchmod(directory->get(), 0700) != 0)
    return fail(ExitCode::os, "cannot make {} private: {}", path.string(), errno_text(errno));
  return std::shared_ptr<const PinRoot>(
      new PinRoot(path, std::move(cleanup), std::move(*parent), std::move(*directory)));
}

Result<DirectoryLock> PinRoot::lock() const {
  auto taken = DirectoryLock::take(Fd(::fcntl(fd(), F_DUPFD_CLOEXEC, 0)), path_, kLock,
                                   DirectoryLock::Kind::directory);
  if (!taken && taken.error().code == ExitCode::unavailable)
    return fail(ExitCode::unavailable,
                "another ktraced holds {}: stop it, or set \"bpffs\" to another directory",
                path_.string());
  return taken;
}

Result<std::vector<std::string>> PinRoot::objects() const {
  auto names = names_in(fd());
  if (names)
    std::erase_if(*names, [](const std::string& name) { return !name.starts_with(kObjectPrefix); });
  return names;
}

// Links first: a program that still runs must keep its pinned maps.
Result<> PinRoot::remove_object(const std::string& id) const {
  auto object = open_folder(fd(), id);
  if (!object) return propagate(object);
  if (*object)
    for (const char* folder : {"links", "programs", "rings", "maps"})
      if (auto removed = remove_folder(object->get(), folder); !removed) return removed;
  return remove_folder(fd(), id);  // with what does not belong there
}

void PinRoot::remove_if_empty() const {
  const auto names = names_in(fd());
  if (!names || std::ranges::any_of(*names, [](const std::string& name) { return name != kLock; }))
    return;
  ::unlinkat(fd(), kLock, AT_REMOVEDIR);
  ::unlinkat(parent_.get(), path_.filename().c_str(), AT_REMOVEDIR);
}

}  // namespace ktraced
