// SPDX-License-Identifier: BSD-2-Clause
// Names of threads and slab caches, as the programs keep them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernel/bpf_object.h"

namespace ktraced {

// The name tables of the programs. Thread-safe.
class KernelNames {
 public:
  explicit KernelNames(const BpfObject& object);

  // The programs that keep names are about to be attached, after a time when not all of them
  // were: what happened to threads meanwhile is looked for.
  void begin() const;
  // Compares every living thread with the table: enters those that it does not have, replaces
  // names that have changed unseen. To be called as soon as the programs are attached; cheap
  // enough to repeat whenever somebody begins to read: a long-lived thread may have been displaced.
  void check() const;

  // All known names as name records (rec_name_task, rec_name_slab_cache), one after another. A
  // thread's record has the time since when it is called so; one of process 0 and an empty name
  // ends the one before: the thread is gone.
  [[nodiscard]] std::vector<std::byte> all() const;

  struct History {
    std::vector<std::byte> records;
    uint64_t complete_since = 0;  // ns, CLOCK_BOOTTIME; of earlier changes some are not known
  };
  // The same, after the names that threads had before and after each change since `ns`.
  [[nodiscard]] History history(uint64_t ns) const;

 private:
  bool check_by_program() const;
  void check_by_proc() const;
  void add_changes(std::span<const name_change> all, uint64_t ns, History& history) const;

  const BpfObject& object_;
  struct control& control_;
  int tasks_map_;
  int caches_map_;
  int changes_map_;
};

}  // namespace ktraced
