// SPDX-License-Identifier: BSD-2-Clause
// A file system whose disk has no room on demand.
#pragma once

#include <fmt/format.h>
#include <sys/mount.h>

#include <filesystem>
#include <stdexcept>

#include "harness/disks/tmpfs.h"
#include "harness/machine/process.h"
#include "harness/machine/temp_dir.h"

namespace ktraced::live {

// An ext4 on a loop device, whose sparse image is on a small tmpfs, like a thin disk. When that is
// full, writes of blocks that were never written fail: the kernel accepts what is written to a
// file, drops it later, and fsync() fails once (with ENOSPC).
class ThinDisk {
 public:
  ThinDisk() {
    const std::string image = (store_.path() / "image").string();
    const Finished made =
        run({"sh", "-c",
             fmt::format("truncate -s 256M {0} && mkfs.ext4 -q -F -O ^has_journal "
                         "{0} && mount -o loop,errors=continue {0} {1}",
                         image, path().string())});
    if (made.exit_code != 0) throw std::runtime_error("cannot make a disk: " + made.err);
  }
  ThinDisk(const ThinDisk&) = delete;
  ThinDisk& operator=(const ThinDisk&) = delete;
  ~ThinDisk() { ::umount2(path().c_str(), MNT_DETACH); }

  [[nodiscard]] const std::filesystem::path& path() const { return directory_.path(); }
  void fail() const { store_.fill("filler"); }
  void repair() const { std::filesystem::remove(store_.path() / "filler"); }

 private:
  Tmpfs store_{"size=64m"};
  TempDir directory_;
};

}  // namespace ktraced::live
