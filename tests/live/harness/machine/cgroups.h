// SPDX-License-Identifier: BSD-2-Clause
// Private control groups for a test.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "harness/machine/process.h"
#include "harness/machine/temp_dir.h"

namespace ktraced::live {

// Where control groups v2 are mounted; throws if nowhere.
[[nodiscard]] std::filesystem::path cgroup2_mount();

// A new child group; the destructor removes it (its processes must have ended).
class Cgroup {
 public:
  Cgroup(const std::filesystem::path& parent, const std::string& name);
  ~Cgroup();
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  void write(const std::string& file, const std::string& value) const;

 private:
  std::filesystem::path path_;
};

// A group with a memory limit, in whichever version of control groups has the memory controller
// here; throws if neither has.
class MemoryCgroup {
 public:
  explicit MemoryCgroup(uint64_t limit_bytes);
  ~MemoryCgroup();
  [[nodiscard]] const std::filesystem::path& path() const { return group_->path(); }
  // A command that runs the words after it in the group, for Daemon.
  [[nodiscard]] Command wrapper() const;
  // The same, but they cannot read any limit, as in a container whose limit is above it.
  [[nodiscard]] Command hidden_wrapper() const;

 private:
  TempDir mount_point_;
  bool mounted_ = false;
  std::unique_ptr<Cgroup> group_;
};

}  // namespace ktraced::live
