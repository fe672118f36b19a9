// Names of threads and slab caches, as the programs keep them.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "kernel/bpf_object.h"

namespace ktraced {

// A thread's name, from its "comm" file in /proc, as the tracepoints give it: there a kworker is
// called "kworker/0:1-events", with what it works on.
[[nodiscard]] std::string_view comm_of_proc(std::string_view text);

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
