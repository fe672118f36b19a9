// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/symbols/kernel_names.h"

#include <bpf/bpf.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/files/cgroup_mount.h"
#include "base/files/directory.h"
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

void append_cgroup(std::vector<std::byte>& out, const rec_metadata_cgroup& group) {
  const auto bytes = std::as_bytes(std::span(&group, 1));
  const size_t size = std::min<size_t>(group.h.size, bytes.size());
  out.insert(out.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
}

rec_metadata_cgroup cgroup_record(uint64_t id, const std::string& path) {
  rec_metadata_cgroup group{};
  path.copy(group.path, sizeof(group.path) - 1);
  const size_t size =
      (offsetof(rec_metadata_cgroup, path) + std::strlen(group.path) + 1 + 7) / 8 * 8;
  group.h = {.ts = boottime_ns(), .id = METADATA_cgroup, .size = static_cast<u16>(size), .tid = 0};
  group.cgroup = id;
  return group;
}

// Adds every control group of the mounted part of the cgroup v2 hierarchy, with its path below the
// root of the hierarchy: "/system.slice". Groups that are removed meanwhile are left out: one ends
// the walk below it only. Fails as cgroup2_mount(); and, after it has added the other groups, as
// for_each_entry() if one cannot be read.
Result<> find_cgroups(CgroupPaths& found) {
  namespace fs = std::filesystem;
  auto mount = cgroup2_mount();
  if (!mount) return propagate(mount);
  std::vector<fs::path> pending = {mount->point};
  Result<> walked;
  while (!pending.empty()) {
    const fs::path directory = std::move(pending.back());
    pending.pop_back();
    struct stat status{};
    if (::stat(directory.c_str(), &status) != 0) {
      if (errno != ENOENT && errno != ENODEV)
        walked = fail(ExitCode::io, "cannot read the control group {}: {}", directory.string(),
                      errno_text(errno));
      continue;
    }
    const fs::path below = directory.lexically_relative(mount->point);
    found.insert_or_assign(status.st_ino,
                           (below == "." ? mount->root : mount->root / below).string());
    auto read = for_each_entry(directory, [&](const fs::directory_entry& entry) {
      std::error_code ignored;
      if (entry.is_directory(ignored) && !entry.is_symlink(ignored))
        pending.push_back(entry.path());
    });
    if (!read && read.error().code != ExitCode::data) walked = std::move(read);
  }
  return walked;
}

// A whole map of `count` elements, as an array that programs write to.
template <class Entry>
Result<Mapping> map_array(int map, size_t count) {
  return Mapping::map(map, count * sizeof(Entry), PROT_READ);
}

template <class Entry>
std::span<const Entry> entries_of(const Mapping& mapping, size_t count) {
  return {reinterpret_cast<const Entry*>(mapping.data()), count};
}

}  // namespace

std::vector<rec_metadata_cgroup> ended_cgroups(std::span<const rec_metadata_cgroup> known,
                                               const CgroupPaths& found, const Result<>& walked) {
  constexpr uint64_t kRoot = 1;
  std::vector<rec_metadata_cgroup> ended;
  if (!walked || !found.contains(kRoot)) return ended;
  std::ranges::copy_if(known, std::back_inserter(ended),
                       [&](const auto& group) { return !found.contains(group.cgroup); });
  return ended;
}

KernelNames::KernelNames(const BpfObject& object)
    : object_(object),
      control_(object.control()),
      tasks_map_(object.map_fd("tasks")),
      caches_map_(object.map_fd("caches")),
      cgroups_map_(object.map_fd("cgroups")),
      removed_map_(object.map_fd("removed_cgroups")),
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

// Groups that are made after the known ones are read are no ended ones, whether or not the walk
// meets them. One that is removed after the walk has met it stays until the next check.
Result<> KernelNames::check_cgroups() const {
  std::vector<rec_metadata_cgroup> known;
  for_each_element<uint64_t, rec_metadata_cgroup>(
      cgroups_map_, [&](uint64_t, const auto& group) { known.push_back(group); });
  CgroupPaths found;
  // Programs count meanwhile.
  std::atomic_ref(control_.unkept_cgroups).store(0);
  const auto walked = find_cgroups(found);
  for (const rec_metadata_cgroup& group : ended_cgroups(known, found, walked)) end_cgroup(group);
  uint64_t unkept = 0;
  for (const auto& [id, path] : found) {
    const rec_metadata_cgroup group = cgroup_record(id, path);
    if (bpf_map_update_elem(cgroups_map_, &id, &group, BPF_NOEXIST) == -E2BIG) ++unkept;
  }
  std::atomic_ref(control_.unkept_cgroups).fetch_add(unkept);
  return walked;
}

// Moves a group to the history of the removed ones, as the program cgroup_removed does. It gets the
// time of now, because nobody knows when it ended.
void KernelNames::end_cgroup(const rec_metadata_cgroup& group) const {
  const uint64_t number = std::atomic_ref(control_.removed_cgroups).fetch_add(1);
  const auto index = static_cast<uint32_t>(number % REMOVED_CGROUPS_MAX);
  removed_cgroup removed{.number = 0, .record = group};
  removed.record.h.ts = boottime_ns();
  bpf_map_update_elem(removed_map_, &index, &removed, BPF_ANY);
  removed.number = number + 1;
  bpf_map_update_elem(removed_map_, &index, &removed, BPF_ANY);
  bpf_map_delete_elem(cgroups_map_, &group.cgroup);
}

std::vector<std::byte> KernelNames::all(uint64_t ns) const {
  History history;
  add_all(ns, history);
  return std::move(history.records);
}

void KernelNames::add_all(uint64_t ns, History& history) const {
  auto& out = history.records;
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
  add_cgroups(ns, history);
}

// The history is read after the table of the groups that exist, so that a group which is removed
// during this is in one of them.
void KernelNames::add_cgroups(uint64_t ns, History& history) const {
  history.unkept_cgroups = std::atomic_ref(control_.unkept_cgroups).load();
  for_each_element<uint64_t, rec_metadata_cgroup>(cgroups_map_,
                                                  [&](uint64_t, const rec_metadata_cgroup& group) {
                                                    if (group.h.ts >= ns)
                                                      append_cgroup(history.records, group);
                                                  });
  const auto mapping = map_array<removed_cgroup>(removed_map_, REMOVED_CGROUPS_MAX);
  const uint64_t end = std::atomic_ref(control_.removed_cgroups).load(std::memory_order_acquire);
  if (!mapping && end != 0) history.cgroups_since = boottime_ns();
  if (!mapping) return;
  for_each_kept(entries_of<removed_cgroup>(*mapping, REMOVED_CGROUPS_MAX), end,
                [&](const removed_cgroup& removed) {
                  const rec_metadata_cgroup& group = removed.record;
                  if (end > REMOVED_CGROUPS_MAX && history.cgroups_since == 0)
                    history.cgroups_since = group.h.ts;
                  if (group.h.ts >= ns) append_cgroup(history.records, group);
                });
}

KernelNames::History KernelNames::changes(uint64_t ns) const {
  History history;
  if (const auto mapping = map_array<name_change>(changes_map_, NAME_CHANGES_MAX))
    add_changes(entries_of<name_change>(*mapping, NAME_CHANGES_MAX), ns, history);
  else
    history.complete_since = boottime_ns();
  return history;
}

KernelNames::History KernelNames::history(uint64_t ns) const {
  History history = changes(ns);
  add_all(0, history);
  return history;
}

void KernelNames::add_changes(std::span<const name_change> all, uint64_t ns,
                              History& history) const {
  const uint64_t end = std::atomic_ref(control_.name_changes).load(std::memory_order_acquire);
  for_each_kept(all, end, [&](const name_change& change) {
    if (end > all.size() && history.complete_since == 0) history.complete_since = change.after.seen;
    if (change.after.seen < ns) return;
    if (change.before.start_time != 0) append_task(history.records, change.tid, change.before);
    append_task(history.records, change.tid, change.after);
  });
}

}  // namespace ktraced
