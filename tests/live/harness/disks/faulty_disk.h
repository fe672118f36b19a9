// SPDX-License-Identifier: BSD-2-Clause
// A file system on a disk with bad blocks, on demand.
#pragma once

#include <filesystem>
#include <memory>

#include "harness/machine/temp_dir.h"

namespace ktraced::live {

// An ext4 on a loop device, whose image is a file of FUSE that this process serves. While it fails,
// reads or writes of all blocks behind the first ones get EIO. The metadata that mkfs has made
// stays readable and writable: a part of the disk fails.
class FaultyDisk {
 public:
  FaultyDisk();
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;
  ~FaultyDisk();

  [[nodiscard]] const std::filesystem::path& path() const { return directory_.path(); }
  // Writes fail from now on. The kernel accepts what is written to a file, drops it later, and
  // fsync() fails once.
  void fail();
  // Reads fail from now on, of all files below `path` too.
  void fail_reads(const std::filesystem::path& path);
  void repair();
  // Requests that have failed.
  [[nodiscard]] unsigned long failed() const;

 private:
  class Image;
  TempDir store_;
  TempDir directory_;
  std::unique_ptr<Image> image_;
};

}  // namespace ktraced::live
