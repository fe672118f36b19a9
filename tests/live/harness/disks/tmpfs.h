// SPDX-License-Identifier: BSD-2-Clause
// A small private file system for a test.
#pragma once

#include <fcntl.h>
#include <sys/mount.h>

#include <cerrno>
#include <stdexcept>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "harness/machine/temp_dir.h"

namespace ktraced::live {

// Mounted at a private directory; the destructor unmounts it.
class Tmpfs {
 public:
  // `options` as for mount -t tmpfs -o: "size=1m,nr_inodes=20".
  explicit Tmpfs(const std::string& options) { mount(0, options); }
  ~Tmpfs() { ::umount2(path().c_str(), MNT_DETACH); }
  Tmpfs(const Tmpfs&) = delete;
  Tmpfs& operator=(const Tmpfs&) = delete;

  void remount(const std::string& options) { mount(MS_REMOUNT, options); }
  void make_read_only() { mount(MS_REMOUNT | MS_RDONLY, ""); }
  // Makes a file that fills the file system.
  void fill(const std::string& name) const {
    Fd fd(::open((path() / name).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    off_t size = 0;
    for (off_t step : {1 << 20, 4096})
      while (::posix_fallocate(fd.get(), size, step) == 0) size += step;
  }
  [[nodiscard]] const std::filesystem::path& path() const { return directory_.path(); }

 private:
  void mount(unsigned long flags, const std::string& options) {
    if (::mount("tmpfs", path().c_str(), "tmpfs", flags, options.c_str()) != 0)
      throw std::runtime_error("cannot mount a tmpfs: " + errno_text(errno));
  }

  TempDir directory_;
};

}  // namespace ktraced::live
