// SPDX-License-Identifier: BSD-2-Clause
// The names that were reported while a trace was written.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpf/records.h"
#include "trace/metadata/command_record.h"
#include "trace/metadata/jit_code.h"
#include "trace/metadata/lost_names.h"
#include "trace/metadata/mapped_file.h"
#include "trace/packet/packet.h"

namespace ktraced {

// Collects metadata records, and keeps each identity of a thread once however often it is reported.
// Unlike a NameTable it never evicts: readers of the trace may ask for any time in it. But any user
// can rename threads, make control groups and execute programs without end, so there are limits.
class NameLog {
 public:
  struct Limits {
    static constexpr size_t kThreadIds = size_t{4} << 20;  // PID_MAX_LIMIT of the kernel

    size_t tasks = size_t{1} << 21;  // names; beyond, a thread has its first and its last one
    // Of control groups, command lines, mapped files and functions of processes: the first ones.
    size_t other_bytes = size_t{64} << 20;

    // The most names that there can be: beyond `tasks`, each thread id has two of them.
    [[nodiscard]] constexpr size_t task_entries() const { return tasks + 2 * kThreadIds; }
  };

  NameLog() = default;
  explicit NameLog(const Limits& limits) : limits_(limits) {}

  // Adds metadata records, one after another; ignores other records.
  void add(std::span<const std::byte> records);

  // Adds a mapped file, or what is known of it now. A build id that is known stays.
  void add(MappedFile file);
  // By number.
  [[nodiscard]] const std::map<uint64_t, MappedFile>& files() const { return files_; }
  // Adds a function that a process has made.
  void add(JitFunction function);
  [[nodiscard]] const std::vector<JitFunction>& jit_functions() const { return jit_functions_; }
  // The user whose process this is, as it was last reported; nothing: it was not.
  [[nodiscard]] std::optional<uint32_t> user_of(const ProcessId& process) const;

  // The last reported name of each thread, their control groups and all caches: as metadata
  // records, for a trace that continues this one. Without command lines: they may have changed
  // since.
  [[nodiscard]] std::vector<std::byte> last() const;

  // What is missing, as the records say and beyond the limits; problems() has it as sentences
  // without their ends.
  [[nodiscard]] const LostNames& lost() const { return lost_; }
  [[nodiscard]] std::vector<std::string> problems() const;

  // The contents of tasks.json, caches.json, cgroups.json, commands.json, files.json and jit.json,
  // one entry per line.
  [[nodiscard]] std::string tasks_json() const;
  [[nodiscard]] std::string caches_json() const;
  [[nodiscard]] std::string cgroups_json() const;
  [[nodiscard]] std::string commands_json() const;
  [[nodiscard]] std::string files_json() const;
  [[nodiscard]] std::string jit_json() const;

 private:
  void add_task(const rec_metadata_task& task);
  void add_command(CommandLine command);
  bool has_room(size_t bytes);

  // The last entry of a thread in tasks_.
  struct Newest {
    size_t index = 0;
    bool changes = false;  // beyond the limit
  };

  Limits limits_;
  LostNames lost_;
  size_t other_bytes_ = 0;  // see Limits
  bool others_missing_ = false;
  std::vector<rec_metadata_task> tasks_;
  std::unordered_map<uint32_t, Newest> newest_;         // by tid
  std::map<uint64_t, rec_metadata_slab_cache> caches_;  // by address
  std::map<uint64_t, rec_metadata_cgroup> cgroups_;     // by id
  // The last one of each process, by its id and start.
  std::map<std::pair<uint32_t, uint64_t>, CommandLine> commands_;
  std::map<uint64_t, MappedFile> files_;
  std::vector<JitFunction> jit_functions_;
};

}  // namespace ktraced
