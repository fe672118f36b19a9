// SPDX-License-Identifier: BSD-2-Clause
// The tasks and CPUs of traces, to explain options that select none of them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "trace/metadata/name_table.h"

namespace ktraced {

struct SelectionArgs;

// Values of options that select tasks or CPUs: which of them exist at any time of the traces.
class KnownTasks {
 public:
  void add_tasks(const NameTable& names);
  void add_cpu(uint32_t cpu);

  // Why none of the values selects anything: "no task has this name; did you mean 'nginx'?".
  // Empty if one of them may, or if no task is known.
  [[nodiscard]] std::string why_no_pid(const std::vector<uint32_t>& pids) const;
  [[nodiscard]] std::string why_no_tid(const std::vector<uint32_t>& tids) const;
  [[nodiscard]] std::string why_no_uid(const std::vector<uint32_t>& uids) const;
  [[nodiscard]] std::string why_no_comm(const std::vector<std::string>& comms) const;
  [[nodiscard]] std::string why_no_cgroup(const std::vector<std::string>& cgroups) const;
  [[nodiscard]] std::string why_no_cpu(const std::vector<uint32_t>& cpus) const;
  // A sentence for each value that no task has, of options with several values of which one is
  // known: "--comm ngin: no task has this name; did you mean 'nginx'?".
  [[nodiscard]] std::vector<std::string> partly_unknown(const SelectionArgs& args) const;

 private:
  [[nodiscard]] bool has_comm(const std::string& pattern) const;
  [[nodiscard]] bool has_cgroup(const std::string& text) const;
  [[nodiscard]] std::set<std::string> cgroup_names() const;

  std::set<uint32_t> tids_, pids_, uids_, cpus_;
  std::set<std::string> comms_;
  std::map<uint64_t, std::string> cgroups_;  // paths by id
};

}  // namespace ktraced
