// SPDX-License-Identifier: BSD-2-Clause
// Applies the operator's filter in the kernel.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "bpf/shared_state.h"
#include "kernel/filters/filter_settings.h"
#include "kernel/programs/bpf_object.h"
#include "kernel/programs/program_barrier.h"

namespace ktraced {

// Keeps two filter slots in the kernel: a change fills the one not in use and then
// switches to it with a single store, so no hit ever sees half a filter.
class Filters {
 public:
  explicit Filters(const BpfObject& object);

  // Applies `settings`, or changes nothing: ExitCode::usage for a process or control group that
  // does not exist, or for more values than the maps can hold. Processes that `parked` follows stay
  // followed, so that `parked` can be applied again later; fails if it could not be applied now.
  Result<> apply(const FilterSettings& settings, const FilterSettings* parked = nullptr);
  [[nodiscard]] const FilterSettings& current() const { return current_; }

  // System call numbers that are traced, by ABI (values of syscall_abi_t); none: all.
  void select_syscalls(const std::map<uint32_t, std::vector<uint32_t>>& numbers_by_abi);

  // Are process trees followed, so that fork events are needed?
  [[nodiscard]] bool following() const { return !roots_.empty(); }
  // Processes that were not followed because the map was full.
  [[nodiscard]] uint64_t follow_lost() const { return control_.follow_lost; }

 private:
  struct Compiled;
  Result<Compiled> compile(const FilterSettings& settings, const FilterSettings* parked) const;
  Result<> compile_sides(const FilterSettings& settings, Compiled& out) const;
  Result<> compile_side(const FilterSide& from, uint32_t exclude, filter_side& to,
                        Compiled& out) const;
  Result<uint32_t> root_bit(uint32_t id, Compiled& out) const;
  Result<> replace_ids(uint32_t slot, const std::vector<filter_id_key>& keys);
  Result<> plant_root(uint32_t tgid, uint32_t bit);
  void uproot(uint64_t bits);

  struct control& control_;
  ProgramBarrier barrier_;
  int ids_map_;
  int followed_map_;
  FilterSettings current_;
  std::vector<filter_id_key> ids_[2];   // the keys of each slot in the map
  std::map<uint32_t, uint32_t> roots_;  // followed process → bit
};

// Finds a control group in the v2 hierarchy. `path` is absolute or relative to its mount. Fails
// with ExitCode::usage.
[[nodiscard]] Result<cgroup_ref> find_cgroup(const std::string& path);

// A task name pattern, exact or with a trailing '*', as the programs compare it.
[[nodiscard]] comm_pattern compile_comm(std::string_view pattern);

}  // namespace ktraced
