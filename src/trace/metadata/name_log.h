// SPDX-License-Identifier: BSD-2-Clause
// The names that were reported while a trace was written.
#pragma once

#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpf/records.h"
#include "trace/metadata/command_record.h"
#include "trace/metadata/lost_names.h"
#include "trace/packet/packet.h"

namespace ktraced {

// Collects metadata records, and keeps each identity of a thread once however often it is reported.
// Unlike a NameTable it never evicts: readers of the trace may ask for any time in it. If there are
// more names than `max_tasks`, each thread keeps its first ones and its last one.
class NameLog {
 public:
  static constexpr size_t kMaxTasks = size_t{1} << 21;

  explicit NameLog(size_t max_tasks = kMaxTasks) : max_tasks_(max_tasks) {}

  // Adds metadata records, one after another; ignores other records.
  void add(std::span<const std::byte> records);

  // The last reported name of each thread, and all caches and control groups: as metadata records,
  // for a trace that continues this one. Without command lines: they may have changed since.
  [[nodiscard]] std::vector<std::byte> last() const;

  // The times in which names are missing: as the records say, and because names did not fit.
  [[nodiscard]] const LostNames& lost() const { return lost_; }

  // The contents of tasks.json, caches.json, cgroups.json and commands.json, one entry per line.
  [[nodiscard]] std::string tasks_json() const;
  [[nodiscard]] std::string caches_json() const;
  [[nodiscard]] std::string cgroups_json() const;
  [[nodiscard]] std::string commands_json() const;

 private:
  void add_task(const rec_metadata_task& task);

  // The last entry of a thread in tasks_.
  struct Newest {
    size_t index = 0;
    bool changes = false;  // beyond the limit
  };

  size_t max_tasks_;
  LostNames lost_;
  std::vector<rec_metadata_task> tasks_;
  std::unordered_map<uint32_t, Newest> newest_;         // by tid
  std::map<uint64_t, rec_metadata_slab_cache> caches_;  // by address
  std::map<uint64_t, rec_metadata_cgroup> cgroups_;     // by id
  // The last one of each process, by its id and start.
  std::map<std::pair<uint32_t, uint64_t>, CommandLine> commands_;
};

}  // namespace ktraced
