// SPDX-License-Identifier: BSD-2-Clause
// Names of threads, slab caches and control groups from the maps of the programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernel/programs/bpf_object.h"

namespace ktraced {

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

  // Adds a control group to the table, unless it is there. The programs add those that are made
  // later.
  void add_cgroup(uint64_t id, const std::string& path) const;

  // All known names as metadata records (rec_metadata_task, rec_metadata_slab_cache,
  // rec_metadata_cgroup), one after another. A thread's record has the time since when it has this
  // name. A record with process 0 and an empty name means that the thread has ended. Threads that
  // have had their names since before `ns` are left out.
  [[nodiscard]] std::vector<std::byte> all(uint64_t ns = 0) const;

  struct History {
    std::vector<std::byte> records;
    uint64_t complete_since = 0;  // ns, CLOCK_BOOTTIME; some changes before it are unknown
  };
  // The names that threads had before and after each change since `ns`.
  [[nodiscard]] History changes(uint64_t ns) const;
  // The records of changes(), and then those of all().
  [[nodiscard]] History history(uint64_t ns) const;

 private:
  bool check_by_program() const;
  void check_by_proc() const;
  void add_changes(std::span<const name_change> all, uint64_t ns, History& history) const;

  const BpfObject& object_;
  struct control& control_;
  int tasks_map_;
  int caches_map_;
  int cgroups_map_;
  int changes_map_;
};

}  // namespace ktraced
