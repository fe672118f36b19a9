// Names of threads and slab caches, as the programs keep them.
#pragma once

#include <cstddef>
#include <vector>

#include "kernel/bpf_object.h"

namespace ktraced {

// Reads the name tables of the programs. All threads that live when this is made are
// entered from /proc; the programs do the rest.
class KernelNames {
 public:
  explicit KernelNames(const BpfObject& object);

  // Enters every living thread that the table does not have. Cheap enough to repeat
  // whenever somebody begins to read: a long-lived thread may have been displaced.
  void enter_living_threads() const;
  // All known names as name records (rec_name_task, rec_name_slab_cache), one after another.
  [[nodiscard]] std::vector<std::byte> all() const;

 private:
  int tasks_map_;
  int caches_map_;
};

}  // namespace ktraced
