// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/filters/filters.h"

#include <bpf/bpf.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/files/read_file.h"
#include "kernel/programs/map_elements.h"

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

// The process of a followed id: if the id is a thread's, the thread's process.
Result<uint32_t> process_of(uint32_t id) {
  constexpr std::string_view kField = "\nTgid:";
  const auto status = read_file(fmt::format("/proc/{}/status", id), 65536);
  if (const size_t at = status ? status->find(kField) : std::string::npos; at != std::string::npos)
    return static_cast<uint32_t>(std::strtoul(&(*status)[at + kField.size()], nullptr, 10));
  return fail(ExitCode::usage, "cannot follow process {}: there is no such process", id);
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

Result<> check_count(size_t count, size_t limit, const char* what) {
  if (count > limit)
    return fail(ExitCode::usage, "the filter has {} {}, at most {} are possible", count, what,
                limit);
  return {};
}

}  // namespace

// A filter ready to be written, except for the slot number in the keys.
struct Filters::Compiled {
  struct filter filter{};
  std::vector<filter_id_key> keys;
  std::map<uint32_t, uint32_t> roots;  // followed process → bit
  uint64_t used_bits = 0;              // of the current roots and of those above
};

Filters::Filters(const BpfObject& object)
    : control_(object.control()),
      ids_map_(object.map_fd("filter_ids")),
      followed_map_(object.map_fd("followed")) {}

Result<Filters::Compiled> Filters::compile(const FilterSettings& settings,
                                           const FilterSettings* parked) const {
  Compiled out;
  for (const auto& [tgid, bit] : roots_) out.used_bits |= 1ULL << bit;
  if (auto ok = compile_sides(settings, out); !ok) return propagate(ok);
  if (parked == nullptr) return out;
  Compiled rest;  // only its roots are used
  rest.roots = out.roots;
  rest.used_bits = out.used_bits;
  if (auto ok = compile_sides(*parked, rest); !ok) return propagate(ok);
  out.roots = std::move(rest.roots);
  out.used_bits = rest.used_bits;
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
  for (uint32_t pid : from.pid) out.keys.push_back({0, FILTER_PID, exclude, pid});
  for (uint32_t uid : from.uid) out.keys.push_back({0, FILTER_UID, exclude, uid});
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

// The bit of the followed process `id`; allocates one if it has none yet.
Result<uint32_t> Filters::root_bit(uint32_t id, Compiled& out) const {
  // A process that is already followed may have ended; its descendants stay followed.
  auto old = roots_.find(id);
  auto tgid = old != roots_.end() ? Result<uint32_t>(id) : process_of(id);
  if (!tgid) return propagate(tgid);
  if (old == roots_.end()) old = roots_.find(*tgid);
  if (old != roots_.end()) out.roots.insert(*old);
  if (!out.roots.contains(*tgid)) {
    const auto bit = static_cast<uint32_t>(std::countr_one(out.used_bits));
    if (auto ok = check_count(bit + 1, FOLLOW_ROOTS_MAX, "followed processes"); !ok)
      return propagate(ok);
    out.used_bits |= 1ULL << bit;
    out.roots.emplace(*tgid, bit);
  }
  return out.roots[*tgid];
}

Result<> Filters::apply(const FilterSettings& settings, const FilterSettings* parked) {
  auto compiled = compile(settings, parked);
  if (!compiled) return propagate(compiled);

  // From 7.0 on, a program may be preempted while it reads the previously used slot.
  barrier_.wait();
  const uint32_t slot = 1 - control_.filter_slot;
  if (auto ok = replace_ids(slot, compiled->keys); !ok) return ok;
  for (const auto& [tgid, bit] : compiled->roots)
    if (!roots_.contains(tgid))
      if (auto ok = plant_root(tgid, bit); !ok) return ok;
  control_.filter[slot] = compiled->filter;

  const bool any = compiled->filter.include.kinds != 0 || compiled->filter.exclude.kinds != 0;
  store(control_.filter_slot, slot);
  store(control_.filtering, any ? 1 : 0);
  store(control_.following, compiled->roots.empty() ? 0 : 1);

  uint64_t gone = 0;
  for (const auto& [tgid, bit] : roots_)
    if (!compiled->roots.contains(tgid)) gone |= 1ULL << bit;
  if (gone != 0) uproot(gone);
  roots_ = std::move(compiled->roots);
  current_ = settings;
  return {};
}

// Fills an unused slot; after a failure the next call cleans it.
Result<> Filters::replace_ids(uint32_t slot, const std::vector<filter_id_key>& keys) {
  for (const filter_id_key& key : ids_[slot]) bpf_map_delete_elem(ids_map_, &key);
  ids_[slot].clear();
  for (filter_id_key key : keys) {
    key.slot = slot;
    const uint8_t present = 1;
    if (bpf_map_update_elem(ids_map_, &key, &present, BPF_ANY) != 0)
      return fail(ExitCode::os, "cannot store the filter: {}", errno_text(errno));
    ids_[slot].push_back(key);
  }
  return {};
}

Result<> Filters::plant_root(uint32_t tgid, uint32_t bit) {
  uproot(1ULL << bit);  // a child may have inherited the bit while its previous owner was removed
  uint64_t bits = 0;
  if (bpf_map_lookup_elem(followed_map_, &tgid, &bits) != 0) bits = 0;
  bits |= 1ULL << bit;
  if (bpf_map_update_elem(followed_map_, &tgid, &bits, BPF_ANY) != 0)
    return fail(ExitCode::os, "cannot follow process {}: {}", tgid, errno_text(errno));
  return {};
}

void Filters::uproot(uint64_t bits) {
  std::vector<std::pair<uint32_t, uint64_t>> members;
  for_each_element<uint32_t, uint64_t>(followed_map_, [&](uint32_t tgid, uint64_t roots) {
    if ((roots & bits) != 0) members.emplace_back(tgid, roots & ~bits);
  });
  for (const auto& [tgid, roots] : members) {
    if (roots == 0)
      bpf_map_delete_elem(followed_map_, &tgid);
    else
      bpf_map_update_elem(followed_map_, &tgid, &roots, BPF_EXIST);
  }
}

void Filters::select_syscalls(const std::map<uint32_t, std::vector<uint32_t>>& numbers_by_abi) {
  // Bits change word by word, so selection is turned off first: a call that is selected before and
  // after is always recorded.
  if (numbers_by_abi.empty()) return store(control_.select_syscalls, 0);
  for (uint32_t abi = 0; abi < SYSCALL_ABIS; ++abi) {
    uint64_t words[SYSCALL_MAX / 64] = {};
    if (auto numbers = numbers_by_abi.find(abi); numbers != numbers_by_abi.end())
      for (uint32_t nr : numbers->second)
        if (nr < SYSCALL_MAX) words[nr / 64] |= 1ULL << (nr % 64);
    for (size_t i = 0; i < SYSCALL_MAX / 64; ++i)
      std::atomic_ref(control_.syscalls[abi][i]).store(words[i], std::memory_order_release);
  }
  store(control_.select_syscalls, 1);
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
