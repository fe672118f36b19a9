// SPDX-License-Identifier: BSD-2-Clause
// Sets the filters of sessions in the kernel, and finds the control groups that filters name.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "bpf/shared_state.h"
#include "kernel/filters/filter_settings.h"
#include "kernel/programs/bpf_object.h"
#include "kernel/programs/program_barrier.h"

namespace ktraced {

// The filter of each session. Two slots for each in the kernel: a change fills the one not in use
// and then switches to it with a single store, so no hit ever sees half a filter.
class Filters {
 public:
  // Sessions by number: bit 1 << number.
  using Sessions = uint32_t;

  // `cgroup_moves_seen`: whether the program that notices moves between control groups can be
  // attached. Otherwise each hit asks for the control group of its thread. `object` and `barrier`
  // must outlive this.
  Filters(const BpfObject& object, ProgramBarrier& barrier, bool cgroup_moves_seen);

  // Gives all of `sessions` this filter, except for its system calls, or changes nothing:
  // ExitCode::usage for a process or control group that does not exist, or for more values than the
  // maps can hold; ExitCode::unavailable as check_sees_kernel_pids().
  Result<> apply(Sessions sessions, const FilterSettings& settings);
  // The session ends: its processes are no longer followed.
  void release(uint32_t session);
  [[nodiscard]] const FilterSettings& of(uint32_t session) const {
    return sessions_[session].settings;
  }

  // System call numbers that the sessions select, by ABI (values of syscall_abi_t); none: all.
  void select_syscalls(Sessions sessions,
                       const std::map<uint32_t, std::vector<uint32_t>>& numbers_by_abi);

  // Sessions whose filter has at least one value, not counting system calls.
  [[nodiscard]] Sessions filtering() const { return by_kinds(UINT32_MAX); }
  // Sessions that filter by control group.
  [[nodiscard]] Sessions by_cgroup() const { return by_kinds(FILTER_CGROUP); }
  // Are process trees followed, so that fork events are needed?
  [[nodiscard]] bool following() const { return !roots_.empty(); }
  // Processes that were not followed because the map was full.
  [[nodiscard]] uint64_t follow_lost() const { return control_.follow_lost; }

 private:
  // A number is used again when a process has ended.
  struct Root {
    uint32_t tgid;
    uint64_t start_time;  // ns, CLOCK_BOOTTIME; exact, or rounded down to a tick of /proc
    auto operator<=>(const Root&) const = default;
  };
  using Roots = std::map<Root, uint32_t>;  // followed process → bit
  struct Compiled;
  struct Session {
    FilterSettings settings;
    Roots roots;
    std::vector<filter_id_key> ids[2];  // the keys of each slot in the map
  };

  void adopt_ids();
  Result<Compiled> compile(Sessions sessions, const FilterSettings& settings) const;
  Result<> compile_sides(const FilterSettings& settings, Compiled& out) const;
  Result<> compile_side(const FilterSide& from, uint32_t exclude, filter_side& to,
                        Compiled& out) const;
  [[nodiscard]] uint64_t exact_start(uint32_t tgid, uint64_t start_time) const;
  [[nodiscard]] Result<Root> find_root(uint32_t id) const;
  Result<uint32_t> root_bit(uint32_t id, Compiled& out) const;
  [[nodiscard]] uint32_t slot_of(uint32_t session) const;
  Result<> fill(uint32_t session, const Compiled& compiled);
  Result<> store_ids(uint32_t session, uint32_t slot, const std::vector<filter_id_key>& keys);
  void remove_ids(std::vector<filter_id_key>& keys) const;
  void put_in_force(uint32_t session, const FilterSettings& settings, const Roots& roots);
  [[nodiscard]] Sessions by_kinds(uint32_t kinds) const;  // enum filter_kind
  void note_sessions();
  Result<> add_root(const Root& root, uint32_t bit);
  void remove_unused_roots();
  void remove_roots(uint64_t bits);

  struct control& control_;
  ProgramBarrier& barrier_;
  int ids_map_;
  int followed_map_;
  int tasks_map_;
  std::array<Session, SESSIONS_MAX> sessions_;
  Roots roots_;    // of all sessions
  Sessions left_;  // those whose filter an earlier daemon has left and this one has not replaced
  bool emptied_ = false;
};

// What the programs keep of threads is computed again: changes may have gone unnoticed.
void evict_threads(struct control& control);

// Finds a control group in the v2 hierarchy. `path` is absolute or relative to its mount. Fails
// with ExitCode::usage.
[[nodiscard]] Result<cgroup_ref> find_cgroup(const std::string& path);

// A task name pattern, exact or with a trailing '*', as the programs compare it.
[[nodiscard]] comm_pattern compile_comm(std::string_view pattern);

}  // namespace ktraced
