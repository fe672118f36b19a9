#include "kernel/pins.h"

#include <bpf/bpf.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace ktraced {
namespace {

namespace fs = std::filesystem;

constexpr std::array kFolders = {"maps", "programs", "links", "rings"};

// The nearest directory at or above `path` that exists.
fs::path existing_part(fs::path path) {
  std::error_code ignored;
  while (!fs::exists(path, ignored) && path.has_relative_path()) path = path.parent_path();
  return path;
}

}  // namespace

Result<> Pins::check_root(const fs::path& root) {
  struct statfs info{};
  const fs::path existing = existing_part(root);
  if (::statfs(existing.c_str(), &info) != 0 || info.f_type != BPF_FS_MAGIC)
    return fail(ExitCode::unavailable,
                "{} is not in a BPF file system: mount one with 'mount -t bpf bpf /sys/fs/bpf'",
                root.string());
  return {};
}

Result<Pins> Pins::open(const fs::path& root, const std::string& object) {
  if (auto checked = check_root(root); !checked) return pass_on(checked);
  Pins pins(root / object);
  for (const char* folder : kFolders) {
    std::error_code error;
    fs::create_directories(pins.directory_ / folder, error);
    if (error)
      return fail(ExitCode::os, "cannot make {}: {}", (pins.directory_ / folder).string(),
                  error.message());
  }
  return pins;
}

std::vector<std::string> Pins::objects(const fs::path& root) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root, ignored))
    if (std::string name = entry.path().filename(); name.starts_with(kObjectPrefix))
      names.push_back(std::move(name));
  return names;
}

std::vector<std::string> Pins::remove_all(const fs::path& root) {
  std::vector<std::string> names = objects(root);
  for (const std::string& name : names) Pins(root / name).remove();
  ::rmdir(root.c_str());
  return names;
}

fs::path Pins::path(Kind kind, const std::string& name) const {
  std::string file = name;
  std::ranges::replace(file, '.', '-');
  return directory_ / kFolders[static_cast<size_t>(kind)] / file;
}

Result<> Pins::pin(Kind kind, const std::string& name, int fd) const {
  const fs::path place = path(kind, name);
  ::unlink(place.c_str());
  if (bpf_obj_pin(fd, place.c_str()) != 0)
    return fail(ExitCode::os, "cannot pin {}: {}", place.string(), errno_text(errno));
  return {};
}

Fd Pins::get(Kind kind, const std::string& name) const {
  return Fd(std::max(-1, bpf_obj_get(path(kind, name).c_str())));
}

void Pins::unpin(Kind kind, const std::string& name) const { ::unlink(path(kind, name).c_str()); }

// Links first: what still runs must not run without its maps' names.
void Pins::remove() const {
  std::error_code ignored;
  for (const char* folder : {"links", "programs", "rings", "maps"}) {
    for (const auto& entry : fs::directory_iterator(directory_ / folder, ignored))
      ::unlink(entry.path().c_str());
    fs::remove(directory_ / folder, ignored);
  }
  fs::remove(directory_, ignored);
  ::rmdir(directory_.parent_path().c_str());
}

}  // namespace ktraced
