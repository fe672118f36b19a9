// SPDX-License-Identifier: BSD-2-Clause
// Names of threads, slab caches and control groups from the maps of the programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "kernel/programs/bpf_object.h"

namespace ktraced {

// Paths of control groups by id.
using CgroupPaths = std::unordered_map<uint64_t, std::string>;

// Those of the `known` control groups that do not exist any more, after a walk over the hierarchy
// that has `found` what exists. None if the walk failed or did not find the root of the hierarchy:
// then it has seen only a part.
[[nodiscard]] std::vector<rec_metadata_cgroup> ended_cgroups(
    std::span<const rec_metadata_cgroup> known, const CgroupPaths& found, const Result<>& walked);

// The name tables of the programs. Thread-safe.
class KernelNames {
 public:
  explicit KernelNames(const BpfObject& object);

  // Call this before attaching the programs that track names if not all of them were attached:
  // changes since then must be searched.
  void begin() const;
  // Compares every live thread with the table: adds missing threads and replaces outdated names.
  // Call it as soon as the programs are attached. It is cheap enough to repeat for every new
  // reader, because a long-lived thread may have been evicted.
  void check() const;

  // Compares the table of the control groups that exist with the mounted part of the cgroup v2
  // hierarchy. Call it as soon as the programs are attached, which then keep the table. Fails as
  // cgroup2_mount(), or as for_each_entry() if a group cannot be read: then it adds the groups that
  // it has found and ends none.
  Result<> check_cgroups() const;

  // All known names as metadata records (rec_metadata_task, rec_metadata_slab_cache,
  // rec_metadata_cgroup), one after another. A thread's record has the time since when it has this
  // name. A record with process 0 and an empty name means that the thread has ended. Threads that
  // have had their names since before `ns` are left out, and so are control groups that were known
  // before and were not removed since then.
  [[nodiscard]] std::vector<std::byte> all(uint64_t ns = 0) const;

  struct History {
    std::vector<std::byte> records;
    uint64_t complete_since = 0;  // ns, CLOCK_BOOTTIME; some changes before it are unknown
    // ns, CLOCK_BOOTTIME; of some control groups that were removed before it, the path is unknown.
    uint64_t cgroups_since = 0;
    uint64_t unkept_cgroups = 0;  // those that exist, for whose paths there is no room
  };
  // The names that threads had before and after each change since `ns`.
  [[nodiscard]] History changes(uint64_t ns) const;
  // The records of changes(), and then those of all().
  [[nodiscard]] History history(uint64_t ns) const;

 private:
  bool check_by_program() const;
  void check_by_proc() const;
  void add_changes(std::span<const name_change> all, uint64_t ns, History& history) const;
  void add_all(uint64_t ns, History& history) const;
  void add_cgroups(uint64_t ns, History& history) const;
  void end_cgroup(const rec_metadata_cgroup& group) const;

  const BpfObject& object_;
  struct control& control_;
  int tasks_map_;
  int caches_map_;
  int cgroups_map_;
  int removed_map_;  // of control groups
  int changes_map_;
};

}  // namespace ktraced
