// SPDX-License-Identifier: BSD-2-Clause
#include "harness/machine/cgroups.h"

#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

#include "base/error.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;

// The first mount of that file system type whose options hold `option`.
std::optional<fs::path> mount_of(const std::string& type, const std::string& option = "") {
  std::ifstream mounts("/proc/self/mounts");
  std::string device, directory, kind, options, rest;
  while (mounts >> device >> directory >> kind >> options && std::getline(mounts, rest))
    if (kind == type &&
        ("," + options + ",").find(option.empty() ? "," : "," + option + ",") != std::string::npos)
      return directory;
  return std::nullopt;
}

bool has_word(const fs::path& file, const std::string& expected) {
  std::ifstream in(file);
  for (std::string word; in >> word;)
    if (word == expected) return true;
  return false;
}

}  // namespace

fs::path cgroup2_mount() {
  auto found = mount_of("cgroup2");
  if (!found) throw std::runtime_error("control groups v2 are not mounted; mount -t cgroup2 …");
  return *found;
}

Cgroup::Cgroup(const fs::path& parent, const std::string& name)
    : path_(parent / fmt::format("{}-{}", name, ::getpid())) {
  if (::mkdir(path_.c_str(), 0755) != 0)
    throw std::runtime_error(fmt::format("mkdir {}: {}", path_.string(), errno_text(errno)));
}

Cgroup::~Cgroup() {
  // A group stays busy until its ended processes are gone.
  eventually([this] { return ::rmdir(path_.c_str()) == 0 || errno != EBUSY; });
}

void Cgroup::write(const std::string& file, const std::string& value) const {
  std::ofstream out(path_ / file);
  out << value << std::flush;
  if (!out)
    throw std::runtime_error(fmt::format("cannot write {} to {}", value, (path_ / file).string()));
}

MemoryCgroup::MemoryCgroup(uint64_t limit_bytes) {
  auto v2 = mount_of("cgroup2");
  if (v2 && has_word(*v2 / "cgroup.controllers", "memory")) {
    std::ofstream(*v2 / "cgroup.subtree_control") << "+memory";
    group_ = std::make_unique<Cgroup>(*v2, "ktraced-memory");
    group_->write("memory.max", std::to_string(limit_bytes));
    return;
  }
  auto v1 = mount_of("cgroup", "memory");
  if (!v1) {
    if (::mount("cgroup", mount_point_.path().c_str(), "cgroup", 0, "memory") != 0)
      throw std::runtime_error("no memory controller of control groups: " + errno_text(errno));
    mounted_ = true;
    v1 = mount_point_.path();
  }
  group_ = std::make_unique<Cgroup>(*v1, "ktraced-memory");
  group_->write("memory.limit_in_bytes", std::to_string(limit_bytes));
}

Command MemoryCgroup::wrapper() const {
  return {"/bin/sh", "-c", "echo $$ > " + (path() / "cgroup.procs").string() + " && exec \"$@\"",
          "sh"};
}

Command MemoryCgroup::hidden_wrapper() const {
  const std::string hide =
      "for mount in $(grep -E ' - cgroup2? ' /proc/self/mountinfo | cut -d ' ' -f 5 | sort -r); do"
      "  mount -t tmpfs hidden $mount || exit; "
      "done";
  Command command = {"unshare", "--mount"};
  const Command seen = wrapper();
  command.insert(command.end(), seen.begin(), seen.end());
  command.insert(command.end(), {"/bin/sh", "-c", hide + "; exec \"$@\"", "sh"});
  return command;
}

MemoryCgroup::~MemoryCgroup() {
  group_.reset();
  if (mounted_) ::umount2(mount_point_.path().c_str(), MNT_DETACH);
}

}  // namespace ktraced::live
