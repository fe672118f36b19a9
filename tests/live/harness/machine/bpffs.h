// SPDX-License-Identifier: BSD-2-Clause
// A private BPF file system for a test.
#pragma once

#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <string>

#include "base/error.h"
#include "harness/machine/temp_dir.h"

namespace ktraced::live {

// World-writable, as a plain 'mount -t bpf' makes it. The destructor unmounts it, with all objects
// pinned in it.
class Bpffs {
 public:
  Bpffs() {
    if (::mkdir(path().c_str(), 0755) != 0 ||
        ::mount("bpf", path().c_str(), "bpf", 0, "mode=1777") != 0)
      throw std::runtime_error("cannot mount a bpffs: " + errno_text(errno));
  }
  ~Bpffs() { ::umount2(path().c_str(), MNT_DETACH); }
  Bpffs(const Bpffs&) = delete;
  Bpffs& operator=(const Bpffs&) = delete;

  [[nodiscard]] std::filesystem::path path() const { return directory_.path() / "bpf"; }
  // True if nobody has made anything in it. Only the kernel makes names with dots, when it mounts
  // one: "maps.debug".
  [[nodiscard]] bool is_unused() const {
    const std::filesystem::directory_iterator entries(path());
    return std::ranges::all_of(
        entries, [](const auto& entry) { return entry.path().filename().string().contains('.'); });
  }

 private:
  TempDir directory_;
};

}  // namespace ktraced::live
