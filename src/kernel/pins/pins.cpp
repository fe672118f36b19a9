// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/pins/pins.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files/directory.h"
#include "base/files/own_directory.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

constexpr std::array kFolders = {"maps", "programs", "links", "rings"};
constexpr std::array kKinds = {Pins::Kind::map, Pins::Kind::program, Pins::Kind::link,
                               Pins::Kind::ring};

std::string file_name(std::string name) {
  std::ranges::replace(name, '.', '-');
  return name;
}

// The bpf system call takes paths; this path starts at a descriptor, because kernels before 6.5
// lack BPF_F_PATH_FD.
std::string path_at(int folder, const std::string& name) {
  return fmt::format("/proc/self/fd/{}/{}", folder, file_name(name));
}

std::string_view kind_name(Pins::Kind kind) {
  if (kind == Pins::Kind::program) return "program";
  return kind == Pins::Kind::link ? "link" : "map";  // rings are maps
}

// The kernel names the kind in the target of the descriptor's link: "anon_inode:bpf-map". For links
// it has written both "bpf-link" and "bpf_link".
std::string_view kind_of(const Fd& object) {
  std::array<char, 64> target{};
  const ssize_t length = ::readlink(fmt::format("/proc/self/fd/{}", object.get()).c_str(),
                                    target.data(), target.size());
  const std::string_view text(target.data(), static_cast<size_t>(std::max<ssize_t>(length, 0)));
  if (text.contains("bpf-map")) return "map";
  if (text.contains("bpf-prog")) return "program";
  return text.contains("bpf-link") || text.contains("bpf_link") ? "link" : "";
}

Result<Fd> open_own(int parent, const std::string& name, const fs::path& path) {
  auto directory = make_directory_at(parent, name, path);
  if (!directory) return directory;
  if (auto own = check_own_directory(directory->get(), path); !own) return propagate(own);
  return directory;
}

bool is_regular_file(int folder, const std::string& name) {
  struct stat info{};
  return ::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode);
}

}  // namespace

Result<Pins> Pins::open(const std::shared_ptr<const PinRoot>& root, const std::string& object) {
  const fs::path path = root->path() / object;
  auto directory = open_own(root->fd(), object, path);
  if (!directory) return propagate(directory);
  auto place = std::make_shared<Place>();
  place->root = root;
  place->object = object;
  for (size_t kind = 0; kind < kFolders.size(); ++kind) {
    auto folder = open_own(directory->get(), kFolders[kind], path / kFolders[kind]);
    if (!folder) return propagate(folder);
    place->folders[kind] = std::move(*folder);
  }
  return Pins(std::move(place));
}

int Pins::folder(Kind kind) const { return place_->folders[static_cast<size_t>(kind)].get(); }

Result<> Pins::pin(Kind kind, const std::string& name, int fd) const {
  unpin(kind, name);
  if (bpf_obj_pin(fd, path_at(folder(kind), name).c_str()) != 0)
    return fail(ExitCode::os, "cannot pin {}: {}", path(kind, name), errno_text(errno));
  return {};
}

Fd Pins::get(Kind kind, const std::string& name) const {
  return Fd(std::max(-1, bpf_obj_get(path_at(folder(kind), name).c_str())));
}

std::string Pins::path(Kind kind, const std::string& name) const {
  return (place_->root->path() / place_->object / kFolders[static_cast<size_t>(kind)] /
          file_name(name))
      .string();
}

std::unexpected<Error> Pins::damaged(Kind kind, const std::string& name,
                                     std::string_view why) const {
  return fail(ExitCode::unavailable,
              "the pin {} is not what a ktraced has left there: {}; '{}' removes it, with the "
              "history in the kernel",
              path(kind, name), why, place_->root->cleanup());
}

// A pin is damaged unless the reason is in the process. Pins are regular files; the kernel gives
// EACCES also for a directory in the place of one, and for a link to a file that is no pin.
std::unexpected<Error> Pins::not_opened(Kind kind, const std::string& name, int error) const {
  if (error == EPERM || (error == EACCES && is_regular_file(folder(kind), name)))
    return fail(ExitCode::no_permission,
                "cannot open the pin {}: {}; run ktraced as root, or with the capabilities CAP_BPF "
                "and CAP_PERFMON",
                path(kind, name), errno_text(error));
  if (is_transient(error))
    return fail(ExitCode::os, "cannot open the pin {}: {}", path(kind, name), errno_text(error));
  return damaged(kind, name, fmt::format("it cannot be opened ({})", errno_text(error)));
}

Result<> Pins::check() const {
  for (const Kind kind : kKinds)
    for (const std::string& name : names(kind)) {
      const Fd pinned = get(kind, name);
      const int error = errno;
      if (!pinned) return not_opened(kind, name, error);
      if (kind_of(pinned) != kind_name(kind))
        return damaged(kind, name, fmt::format("it is no BPF {}", kind_name(kind)));
    }
  return {};
}

void Pins::unpin(Kind kind, const std::string& name) const {
  ::unlinkat(folder(kind), file_name(name).c_str(), 0);
}

std::vector<std::string> Pins::names(Kind kind) const {
  return names_in(folder(kind)).value_or(std::vector<std::string>());
}

bool Pins::any() const {
  return std::ranges::any_of(kKinds, [this](Kind kind) { return !names(kind).empty(); });
}

// If this ends halfway, nobody adopts the rest, or takes it for history.
void Pins::remove() const {
  unpin(Kind::map, kControlMap);
  if (auto removed = place_->root->remove_object(place_->object); !removed)
    spdlog::warn("pinned objects may be left: {}", removed.error().message);
  place_->root->remove_if_empty();
}

}  // namespace ktraced
