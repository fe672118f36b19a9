// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/symbols/kernel_names.h"

#include <bpf/bpf.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/clock.h"
#include "base/files/namespaces.h"
#include "base/mapping.h"
#include "kernel/programs/map_elements.h"
#include "kernel/symbols/proc_threads.h"

namespace ktraced {
namespace {

bool same_thread(const task_info& a, const task_info& b) {
  return a.tgid == b.tgid && a.start_time / proc_tick_ns() == b.start_time / proc_tick_ns();
}

bool same_name(const task_info& a, const task_info& b) {
  return same_thread(a, b) && a.uid == b.uid && std::ranges::equal(a.comm, b.comm);
}

template <class Record>
void append(std::vector<std::byte>& out, const Record& record) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&record);
  out.insert(out.end(), bytes, bytes + sizeof(record));
}

void append_task(std::vector<std::byte>& out, uint32_t tid, const task_info& info) {
  rec_metadata_task r{};
  r.h = {.ts = info.since, .id = METADATA_task, .size = sizeof(r), .tid = tid};
  r.tgid = info.tgid;
  r.uid = info.uid;
  r.start_time = info.start_time;
  std::memcpy(r.comm, info.comm, sizeof(r.comm));
  r.cgroup = info.cgroup;
  r.parent = info.parent;
  append(out, r);
}

void append_cgroup(std::vector<std::byte>& out, uint64_t id, const cgroup_info& info) {
  rec_metadata_cgroup r{};
  std::memcpy(r.path, info.path, sizeof(r.path) - 1);
  const size_t size = (offsetof(rec_metadata_cgroup, path) + std::strlen(r.path) + 1 + 7) / 8 * 8;
  r.h = {.ts = 0, .id = METADATA_cgroup, .size = static_cast<u16>(size), .tid = 0};
  r.cgroup = id;
  const auto bytes = std::as_bytes(std::span(&r, 1)).first(size);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

// Copies a change; false if a program is writing it, or has written a newer one there.
bool read_change(const name_change& from, uint64_t number, name_change& change) {
  const std::atomic_ref written(const_cast<u64&>(from.number));
  if (written.load(std::memory_order_acquire) != number + 1) return false;
  std::memcpy(&change, &from, sizeof(change));
  std::atomic_thread_fence(std::memory_order_acquire);
  return written.load(std::memory_order_relaxed) == number + 1;
}

}  // namespace

KernelNames::KernelNames(const BpfObject& object)
    : object_(object),
      control_(object.control()),
      tasks_map_(object.map_fd("tasks")),
      caches_map_(object.map_fd("caches")),
      cgroups_map_(object.map_fd("cgroups")),
      changes_map_(object.map_fd("name_changes")) {}

void KernelNames::begin() const {
  std::atomic_ref(control_.names_since).store(boottime_ns());
  // No program is writing now: threads that are not seen from here on have ended. Those outside of
  // the own pid namespace are invisible.
  if (check_by_program() && in_initial_pid_namespace())
    std::atomic_ref(control_.names_checked).store(control_.names_since);
}

void KernelNames::check() const {
  if (!check_by_program()) check_by_proc();
}

bool KernelNames::check_by_program() const {
  auto program = object_.program("check_names");
  if (!program) return false;
  const Fd link(bpf_link_create(*program, 0, BPF_TRACE_ITER, nullptr));
  const Fd threads(link ? bpf_iter_create(link.get()) : -1);
  if (!threads) return false;
  char nothing = 0;
  // The program writes no output: one read runs it over all threads, unless there are very many.
  ssize_t count = -1;
  do count = ::read(threads.get(), &nothing, sizeof(nothing));
  while (count < 0 && (errno == EAGAIN || errno == EINTR));
  return count == 0;
}

// Fallback for kernels that do not allow iterator programs. Follows the rules of check_name() in
// bpf/names.h.
void KernelNames::check_by_proc() const {
  const uint64_t begun = control_.names_since;
  const auto read = for_each_proc_thread([&](uint32_t tid, task_info info) {
    const uint64_t now = boottime_ns();
    task_info known{};
    const bool is_known = bpf_map_lookup_elem(tasks_map_, &tid, &known) == 0;
    if (is_known &&
        (same_name(known, info) || (known.since >= begun && known.since + RENAME_TAKES_NS > now)))
      return;
    if (is_known && same_thread(known, info)) {
      info.cgroup = known.cgroup;  // /proc has no ids
      if (known.parent != 0) info.parent = known.parent;
    }
    info.seen = now;
    info.since = std::max<uint64_t>(is_known && known.seen >= begun ? now : begun, info.start_time);
    bpf_map_update_elem(tasks_map_, &tid, &info, is_known ? BPF_EXIST : BPF_NOEXIST);
  });
  if (!read) spdlog::warn("names of some threads are unknown: {}", read.error().message);
}

void KernelNames::add_cgroup(uint64_t id, const std::string& path) const {
  cgroup_info info{};
  path.copy(info.path, sizeof(info.path) - 1);
  bpf_map_update_elem(cgroups_map_, &id, &info, BPF_NOEXIST);
}

std::vector<std::byte> KernelNames::all(uint64_t ns) const {
  std::vector<std::byte> out;
  const uint64_t checked = std::atomic_ref(control_.names_checked).load();
  for_each_element<uint32_t, task_info>(tasks_map_, [&](uint32_t tid, const task_info& info) {
    if (info.since >= ns) append_task(out, tid, info);
    if (info.seen < checked && checked >= ns) append_task(out, tid, {.since = checked});
  });
  for_each_element<uint64_t, cache_info>(caches_map_, [&](uint64_t key, const cache_info& info) {
    rec_metadata_slab_cache r{};
    r.h = {.ts = 0, .id = METADATA_slab_cache, .size = sizeof(r), .tid = 0};
    r.cache = key;
    std::memcpy(r.name, info.name, sizeof(r.name));
    append(out, r);
  });
  for_each_element<uint64_t, cgroup_info>(
      cgroups_map_, [&](uint64_t id, const cgroup_info& info) { append_cgroup(out, id, info); });
  return out;
}

KernelNames::History KernelNames::changes(uint64_t ns) const {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t size = (NAME_CHANGES_MAX * sizeof(name_change) + page - 1) / page * page;
  History history;
  const auto mapping = Mapping::map(changes_map_, size, PROT_READ);
  if (mapping)
    add_changes({reinterpret_cast<const name_change*>(mapping->data()), NAME_CHANGES_MAX}, ns,
                history);
  else
    history.complete_since = boottime_ns();
  return history;
}

KernelNames::History KernelNames::history(uint64_t ns) const {
  History history = changes(ns);
  const std::vector<std::byte> last = all();
  history.records.insert(history.records.end(), last.begin(), last.end());
  return history;
}

void KernelNames::add_changes(std::span<const name_change> all, uint64_t ns,
                              History& history) const {
  const uint64_t end = std::atomic_ref(control_.name_changes).load(std::memory_order_acquire);
  const uint64_t begin = end - std::min<uint64_t>(end, all.size());
  for (uint64_t i = begin; i < end; ++i) {
    name_change change;
    if (!read_change(all[i % all.size()], i, change)) continue;
    if (begin != 0 && history.complete_since == 0) history.complete_since = change.after.seen;
    if (change.after.seen < ns) continue;
    if (change.before.start_time != 0) append_task(history.records, change.tid, change.before);
    append_task(history.records, change.tid, change.after);
  }
}

}  // namespace ktraced
