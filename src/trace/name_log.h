// SPDX-License-Identifier: BSD-2-Clause
// The names that were told while a trace was written.
#pragma once

#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "bpf/records.h"
#include "trace/packet.h"

namespace ktraced {

// Collects name records, each identity of a thread once however often it is told. Unlike a
// NameTable it forgets nothing: who reads the trace may ask for any time in it.
class NameLog {
 public:
  // Name records, one after another; what is none is passed over.
  void add(std::span<const std::byte> records);

  // The last name told of each thread, and all caches: as name records, for a trace that
  // continues this one.
  [[nodiscard]] std::vector<std::byte> last() const;

  // The contents of tasks.json and caches.json, one name a line.
  [[nodiscard]] std::string tasks_json() const;
  [[nodiscard]] std::string caches_json() const;

 private:
  void add_task(const rec_name_task& task);

  std::vector<rec_name_task> tasks_;
  std::unordered_map<uint32_t, size_t> newest_;     // tid → index of its last in tasks_
  std::map<uint64_t, rec_name_slab_cache> caches_;  // by address
};

}  // namespace ktraced
