// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/filters/filters.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <bitset>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "kernel/programs/map_elements.h"
#include "kernel/symbols/proc_threads.h"

namespace ktraced {
namespace {

template <class Number>
void store(Number& shared, uint32_t value) {
  std::atomic_ref(shared).store(static_cast<Number>(value), std::memory_order_release);
}

// The programs look up an id only if its bit is set.
void hint(uint32_t id, filter_side& side) {
  const uint32_t bit = id % FILTER_HINTS;
  side.id_hints[bit / 64] |= 1ULL << bit % 64;
}

uint32_t kinds_of(const FilterSide& side) {
  uint32_t kinds = 0;
  if (!side.pid.empty()) kinds |= FILTER_PID;
  if (!side.uid.empty()) kinds |= FILTER_UID;
  if (!side.comm.empty()) kinds |= FILTER_COMM;
  if (!side.follow.empty()) kinds |= FILTER_FOLLOW;
  if (!side.cgroup.empty()) kinds |= FILTER_CGROUP;
  return kinds;
}

// The idle tasks are swapper/0, swapper/1 and so on, and share a tid. Does a pattern match some of
// them and not others?
bool distinguishes_idle_tasks(const std::vector<std::string>& patterns) {
  constexpr std::string_view kCommon = "swapper/";
  return std::ranges::any_of(patterns, [kCommon](const std::string& pattern) {
    return pattern.starts_with(kCommon) && pattern.substr(kCommon.size()) != "*";
  });
}

Result<> check_count(size_t count, size_t limit, const char* what) {
  if (count > limit)
    return fail(ExitCode::usage, "the filter has {} {}, at most {} are possible", count, what,
                limit);
  return {};
}

bool is_exact(uint64_t start_time) { return start_time % proc_tick_ns() != 0; }

// Do two start times of a process id mean the same process? Two processes can have the same id
// within one tick of /proc.
bool same_start(uint64_t a, uint64_t b) {
  if (is_exact(a) && is_exact(b)) return a == b;
  return a / proc_tick_ns() == b / proc_tick_ns();
}

}  // namespace

// A filter ready to be written, except for the owner in the keys.
struct Filters::Compiled {
  struct filter filter{};
  std::vector<filter_id_key> keys;
  Roots roots;
  uint64_t used_bits = 0;  // of the current roots and of `roots`
};

// Hits ask for the user each time, because no hook reports that it has changed.
Filters::Filters(const BpfObject& object, ProgramBarrier& barrier, bool cgroup_moves_seen)
    : control_(object.control()),
      barrier_(barrier),
      ids_map_(object.map_fd("filter_ids")),
      followed_map_(object.map_fd("followed")),
      tasks_map_(object.map_fd("tasks")),
      left_(control_.filtering & (1U << SESSION_RECORDER | 1U << SESSION_OUTPUT)) {
  store(control_.kinds_at_hit, FILTER_UID | (cgroup_moves_seen ? 0 : FILTER_CGROUP));
  adopt_ids();
  evict_threads(control_);
}

// Keeps the ids of an earlier daemon that the filters of the recorder and the output use until they
// are replaced, and removes its other ids.
void Filters::adopt_ids() {
  std::vector<filter_id_key> unused;
  for_each_element<filter_id_key, uint8_t>(ids_map_, [&](const filter_id_key& key, uint8_t) {
    for (const uint32_t session : {SESSION_RECORDER, SESSION_OUTPUT})
      if (const uint32_t slot = slot_of(session); key.owner == FILTER_OWNER(session, slot))
        return sessions_[session].ids[slot].push_back(key);
    unused.push_back(key);
  });
  remove_ids(unused);
}

Result<Filters::Compiled> Filters::compile(Sessions sessions,
                                           const FilterSettings& settings) const {
  Compiled out;
  for (const auto& [root, bit] : roots_) out.used_bits |= 1ULL << bit;
  if (auto ok = compile_sides(settings, out); !ok) return propagate(ok);
  // Both slots of each of `sessions` are in the map for a moment. A new filter counts twice, so
  // that another one of its size can replace it.
  size_t needed = 0;
  for (uint32_t session = 0; session < SESSIONS_MAX; ++session) {
    const size_t current = sessions_[session].ids[slot_of(session)].size();
    const bool is_set = (sessions >> session & 1) != 0;
    needed += is_set ? out.keys.size() + std::max(out.keys.size(), current) : current;
  }
  if (auto ok = check_count(needed, FILTER_IDS_TOTAL, "process and user ids, with other sessions'");
      !ok)
    return propagate(ok);
  return out;
}

Result<> Filters::compile_sides(const FilterSettings& settings, Compiled& out) const {
  if (auto ok = compile_side(settings.include, 0, out.filter.include, out); !ok) return ok;
  if (auto ok = compile_side(settings.exclude, 1, out.filter.exclude, out); !ok) return ok;
  return check_count(out.keys.size(), FILTER_IDS_MAX, "process and user ids");
}

Result<> Filters::compile_side(const FilterSide& from, uint32_t exclude, filter_side& to,
                               Compiled& out) const {
  to.kinds = kinds_of(from);
  if (!from.pid.empty() || !from.follow.empty())
    if (auto ok = check_sees_kernel_pids(); !ok) return ok;
  for (uint32_t pid : from.pid)
    out.keys.push_back({.owner = 0, .kind = FILTER_PID, .exclude = exclude, .value = pid});
  for (uint32_t uid : from.uid)
    out.keys.push_back({.owner = 0, .kind = FILTER_UID, .exclude = exclude, .value = uid});
  for (uint32_t pid : from.pid) hint(pid, to);
  for (uint32_t uid : from.uid) hint(uid, to);

  if (auto ok = check_count(from.comm.size(), FILTER_COMM_MAX, "task names"); !ok) return ok;
  for (const std::string& comm : from.comm) to.comm[to.comm_count++] = compile_comm(comm);

  if (auto ok = check_count(from.cgroup.size(), FILTER_CGROUP_MAX, "control groups"); !ok)
    return ok;
  for (const std::string& path : from.cgroup) {
    auto cgroup = find_cgroup(path);
    if (!cgroup) return propagate(cgroup);
    to.cgroup[to.cgroup_count++] = *cgroup;
  }

  for (uint32_t id : from.follow) {
    auto bit = root_bit(id, out);
    if (!bit) return propagate(bit);
    to.follow_roots |= 1ULL << *bit;
  }
  return {};
}

// The start of a living process as the programs have noted it at its birth; rounded down to a tick
// as given if they were not attached then.
uint64_t Filters::exact_start(uint32_t tgid, uint64_t start_time) const {
  task_info noted{};
  const bool found = bpf_map_lookup_elem(tasks_map_, &tgid, &noted) == 0;
  return found && same_start(noted.start_time, start_time) ? noted.start_time : start_time;
}

// The living process of that id: if the id is a thread's, the thread's process. If there is none,
// the last one that had it and is followed: its descendants stay followed.
Result<Filters::Root> Filters::find_root(uint32_t id) const {
  if (const auto living = process_with_thread(id)) {
    const Root root{.tgid = living->tgid,
                    .start_time = exact_start(living->tgid, living->start_time)};
    const auto followed = std::ranges::find_if(roots_, [&](const auto& known) {
      return known.first.tgid == root.tgid && same_start(known.first.start_time, root.start_time);
    });
    return followed != roots_.end() ? followed->first : root;
  }
  const auto next = roots_.upper_bound({.tgid = id, .start_time = UINT64_MAX});
  if (next != roots_.begin() && std::prev(next)->first.tgid == id) return std::prev(next)->first;
  return fail(ExitCode::usage, "cannot follow process {}: there is no such process", id);
}

// The bit of the followed process `id`; allocates one if it has none yet.
Result<uint32_t> Filters::root_bit(uint32_t id, Compiled& out) const {
  Result<Root> root = find_root(id);
  if (!root) return propagate(root);
  if (const auto old = roots_.find(*root); old != roots_.end()) out.roots.insert(*old);
  if (!out.roots.contains(*root)) {
    const auto bit = static_cast<uint32_t>(std::countr_one(out.used_bits));
    if (auto ok =
            check_count(bit + 1, FOLLOW_ROOTS_MAX, "followed processes, with other sessions'");
        !ok)
      return propagate(ok);
    out.used_bits |= 1ULL << bit;
    out.roots.emplace(*root, bit);
  }
  return out.roots[*root];
}

Result<> Filters::apply(Sessions sessions, const FilterSettings& settings) {
  auto compiled = compile(sessions, settings);
  if (!compiled) return propagate(compiled);

  // From 7.0 on, a program may be preempted while it reads the previously used slot.
  barrier_.wait();
  for (uint32_t session = 0; session < SESSIONS_MAX; ++session)
    remove_ids(sessions_[session].ids[1 - slot_of(session)]);
  for (uint32_t session = 0; session < SESSIONS_MAX; ++session)
    if ((sessions >> session & 1) != 0)
      if (auto ok = fill(session, *compiled); !ok) return ok;
  for (const auto& [root, bit] : compiled->roots)
    if (!roots_.contains(root))
      if (auto ok = add_root(root, bit); !ok) return ok;
  roots_.insert(compiled->roots.begin(), compiled->roots.end());
  for (uint32_t session = 0; session < SESSIONS_MAX; ++session)
    if ((sessions >> session & 1) != 0) put_in_force(session, settings, compiled->roots);
  store(control_.following, 1);
  note_sessions();
  evict_threads(control_);
  remove_unused_roots();
  return {};
}

void Filters::release(uint32_t session) {
  // Without values nothing can fail.
  static_cast<void>(apply(1U << session, {}));
  select_syscalls(1U << session, {});
  for (std::vector<filter_id_key>& keys : sessions_[session].ids) remove_ids(keys);
}

Result<> Filters::fill(uint32_t session, const Compiled& compiled) {
  const uint32_t slot = 1 - slot_of(session);
  if (auto ok = store_ids(session, slot, compiled.keys); !ok) return ok;
  control_.filters[session].slots[slot] = compiled.filter;
  return {};
}

void Filters::put_in_force(uint32_t session, const FilterSettings& settings, const Roots& roots) {
  store(control_.filters[session].slot, 1 - slot_of(session));
  left_ &= ~(1U << session);
  sessions_[session].settings = settings;
  sessions_[session].roots = roots;
}

uint32_t Filters::slot_of(uint32_t session) const { return control_.filters[session].slot & 1; }

Filters::Sessions Filters::by_kinds(uint32_t kinds) const {
  Sessions sessions = 0;
  for (uint32_t session = 0; session < SESSIONS_MAX; ++session) {
    const FilterSettings& settings = sessions_[session].settings;
    if (((kinds_of(settings.include) | kinds_of(settings.exclude)) & kinds) != 0)
      sessions |= 1U << session;
  }
  return sessions;
}

void Filters::note_sessions() {
  const bool idle_by_name = std::ranges::any_of(sessions_, [](const Session& session) {
    return distinguishes_idle_tasks(session.settings.include.comm) ||
           distinguishes_idle_tasks(session.settings.exclude.comm);
  });
  // What an earlier daemon has left goes on until it is replaced.
  store(control_.idle_by_name, idle_by_name || (left_ != 0 && control_.idle_by_name != 0) ? 1 : 0);
  store(control_.sessions_at_hit,
        by_kinds(control_.kinds_at_hit) | (control_.sessions_at_hit & left_));
  store(control_.filtering, filtering() | left_);
}

// Fills a slot that is empty and not in use; after a failure the next apply() empties it.
Result<> Filters::store_ids(uint32_t session, uint32_t slot,
                            const std::vector<filter_id_key>& keys) {
  if (keys.empty()) return {};
  std::vector<filter_id_key>& stored = sessions_[session].ids[slot];
  stored = keys;
  for (filter_id_key& key : stored) key.owner = FILTER_OWNER(session, slot);
  const std::vector<uint8_t> present(stored.size(), 1);
  auto count = static_cast<uint32_t>(stored.size());
  LIBBPF_OPTS(bpf_map_batch_opts, options);
  if (bpf_map_update_batch(ids_map_, stored.data(), present.data(), &count, &options) != 0)
    return fail(ExitCode::os, "cannot store the filter: {}", errno_text(errno));
  return {};
}

// After a failure not all of them are in the map: the kernel stops at the first one that is not.
void Filters::remove_ids(std::vector<filter_id_key>& keys) const {
  auto count = static_cast<uint32_t>(keys.size());
  LIBBPF_OPTS(bpf_map_batch_opts, options);
  if (!keys.empty() && bpf_map_delete_batch(ids_map_, keys.data(), &count, &options) != 0)
    for (const filter_id_key& key : keys) bpf_map_delete_elem(ids_map_, &key);
  keys.clear();
}

Result<> Filters::add_root(const Root& root, uint32_t bit) {
  remove_roots(1ULL << bit);  // a child may have inherited the bit while its owner was removed
  followed_process process{};
  if (bpf_map_lookup_elem(followed_map_, &root.tgid, &process) != 0 ||
      !same_start(process.start_time, root.start_time))
    process = {.roots = 0,
               .start_time = root.start_time,
               .precision = is_exact(root.start_time) ? 1 : proc_tick_ns()};
  process.roots |= 1ULL << bit;
  if (bpf_map_update_elem(followed_map_, &root.tgid, &process, BPF_ANY) != 0)
    return fail(ExitCode::os, "cannot follow process {}: {}", root.tgid, errno_text(errno));
  return {};
}

void Filters::remove_unused_roots() {
  uint64_t unused = 0;
  std::erase_if(roots_, [&](const auto& root) {
    const bool used = std::ranges::any_of(
        sessions_, [&](const Session& session) { return session.roots.contains(root.first); });
    if (!used) unused |= 1ULL << root.second;
    return !used;
  });
  store(control_.following, roots_.empty() ? 0 : 1);
  // The first time, also those that an earlier daemon has left.
  if (roots_.empty() && !std::exchange(emptied_, true)) unused = ~0ULL;
  if (unused != 0) remove_roots(unused);
}

void Filters::remove_roots(uint64_t bits) {
  std::vector<std::pair<uint32_t, followed_process>> members;
  for_each_element<uint32_t, followed_process>(followed_map_,
                                               [&](uint32_t tgid, const followed_process& process) {
                                                 if ((process.roots & bits) != 0)
                                                   members.emplace_back(tgid, process);
                                               });
  for (auto& [tgid, process] : members) {
    process.roots &= ~bits;
    if (process.roots == 0)
      bpf_map_delete_elem(followed_map_, &tgid);
    else
      bpf_map_update_elem(followed_map_, &tgid, &process, BPF_EXIST);
  }
}

// A call that is selected before and after is always recorded.
void Filters::select_syscalls(Sessions sessions,
                              const std::map<uint32_t, std::vector<uint32_t>>& numbers_by_abi) {
  const bool all = numbers_by_abi.empty();
  auto put = [sessions](auto& shared, bool selects) {
    std::atomic_ref place(shared);
    const uint32_t others = place.load() & ~sessions;
    place.store(static_cast<std::remove_reference_t<decltype(shared)>>(selects ? others | sessions
                                                                               : others));
  };
  put(control_.all_calls_sessions, all);
  for (uint32_t abi = 0; abi < SYSCALL_ABIS; ++abi) {
    std::bitset<SYSCALL_MAX> selected;
    if (auto numbers = numbers_by_abi.find(abi); numbers != numbers_by_abi.end())
      for (uint32_t nr : numbers->second)
        if (nr < SYSCALL_MAX) selected.set(nr);
    for (uint32_t nr = 0; nr < SYSCALL_MAX; ++nr)
      put(control_.call_sessions[abi][nr], all || selected.test(nr));
  }
}

// A program that computes with the old filters meanwhile keeps its result under the old generation.
void evict_threads(struct control& control) {
  std::atomic_ref(control.generation).fetch_add(1ULL << THREAD_GENERATION_SHIFT);
}

comm_pattern compile_comm(std::string_view pattern) {
  const bool prefix = pattern.ends_with('*');
  if (prefix) pattern.remove_suffix(1);
  char text[COMM_LEN] = {};
  char mask[COMM_LEN] = {};
  const size_t length = std::min(pattern.size(), sizeof(text) - 1);
  std::memcpy(text, pattern.data(), length);
  std::memset(mask, 0xff, prefix ? length : length + 1);
  comm_pattern out{};
  std::memcpy(out.word, text, sizeof(text));
  std::memcpy(out.mask, mask, sizeof(mask));
  return out;
}

}  // namespace ktraced
