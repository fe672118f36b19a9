// SPDX-License-Identifier: BSD-2-Clause
#include "trace/metadata/name_table.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

namespace ktraced {

namespace {

// The fields behind the first `min_size` bytes may be missing; they are 0 then.
template <class Record>
bool read_record(RecordView view, Record& record, size_t min_size = sizeof(Record)) {
  if (view.bytes().size() < min_size) return false;
  record = {};
  std::memcpy(&record, view.bytes().data(), std::min(sizeof(Record), view.bytes().size()));
  return true;
}

bool same_identity(const TaskName& a, const TaskName& b) {
  return a.start_time == b.start_time && a.tgid == b.tgid && a.uid == b.uid &&
         a.cgroup == b.cgroup && a.comm() == b.comm();
}

// What is known of a control group does not become unknown.
void agree_on_cgroup(const TaskName& before, TaskName& after) {
  if (after.cgroup == 0 && before.start_time == after.start_time) after.cgroup = before.cgroup;
}

// The parent that was known first stays.
void agree_on_parent(TaskName& before, TaskName& after) {
  if (before.start_time != after.start_time || before.tgid != after.tgid) return;
  if (before.parent == 0) before.parent = after.parent;
  after.parent = before.parent;
}

// Start times from /proc are whole clock ticks, rounded down. If both are known for a thread, the
// exact one stays.
void agree_on_start(TaskName& a, TaskName& b) {
  constexpr uint64_t kTickNs = 10'000'000;  // 100 Hz on x86
  const bool is_rounded = a.start_time % kTickNs == 0 || b.start_time % kTickNs == 0;
  if (a.tgid == b.tgid && a.start_time != 0 && b.start_time != 0 && is_rounded &&
      a.start_time / kTickNs == b.start_time / kTickNs)
    a.start_time = b.start_time = std::max(a.start_time, b.start_time);
}

}  // namespace

std::string_view TaskName::comm() const {
  return {comm_bytes.data(), ::strnlen(comm_bytes.data(), comm_bytes.size())};
}

bool NameTable::apply(RecordView record) {
  if (record.id() == METADATA_task) {
    rec_metadata_task task;
    if (!read_record(record, task, METADATA_TASK_MIN)) return false;
    if (task.h.tid != 0) apply_task(task);
    return true;
  }
  if (record.id() == METADATA_slab_cache) {
    rec_metadata_slab_cache cache;
    if (!read_record(record, cache)) return false;
    // No kernel has so many caches, so clearing the table is good enough.
    if (caches_.size() >= kMaxCaches) caches_.clear();
    caches_[cache.cache].assign(cache.name, ::strnlen(cache.name, sizeof(cache.name)));
    return true;
  }
  if (record.id() == METADATA_command) return apply_command(record);
  return record.id() == METADATA_cgroup && apply_cgroup(record);
}

bool NameTable::apply_command(RecordView record) {
  auto command = ktraced::command_of(record);
  if (!command) return false;
  if (commands_.size() >= std::max(kMaxCommands, max_tasks_)) commands_.clear();
  CommandLine& known = commands_[{command->pid, command->start_ns}];
  if (known.read_ns <= command->read_ns) known = std::move(*command);
  return true;
}

const CommandLine* NameTable::command_of(uint32_t pid, uint64_t start_ns) const {
  const CommandLine* found = nullptr;
  for (auto at = commands_.lower_bound({pid, 0}); at != commands_.end() && at->first.first == pid;
       ++at)
    if (is_of_process(at->second, start_ns)) found = &at->second;
  return found;
}

bool NameTable::apply_cgroup(RecordView record) {
  rec_metadata_cgroup cgroup;
  if (!read_record(record, cgroup, offsetof(rec_metadata_cgroup, path))) return false;
  if (cgroups_.size() >= std::max(kMaxCgroups, max_tasks_)) evict_empty_cgroups();
  cgroups_[cgroup.cgroup].assign(cgroup.path, ::strnlen(cgroup.path, sizeof(cgroup.path)));
  return true;
}

// Any user can make control groups without end, and no record says that one was removed. All paths
// go only if there are threads in so many groups that almost all would stay.
void NameTable::evict_empty_cgroups() {
  std::unordered_set<uint64_t> used;
  for (const auto& [tid, task] : tasks_)
    for (const TaskName& version : task.versions) used.insert(version.cgroup);
  const size_t before = cgroups_.size();
  std::erase_if(cgroups_, [&](const auto& group) { return !used.contains(group.first); });
  if (cgroups_.size() > before / 4 * 3) cgroups_.clear();
}

// Records arrive in almost any order: all CPUs report names, and the daemon reports them again from
// its tables when some were lost.
void NameTable::apply_task(const rec_metadata_task& record) {
  TaskName name{.since = record.h.ts,
                .start_time = record.start_time,
                .tgid = record.tgid,
                .uid = record.uid,
                .cgroup = record.cgroup,
                .parent = record.parent};
  std::memcpy(name.comm_bytes.data(), record.comm, name.comm_bytes.size());

  if (tasks_.size() >= max_tasks_ && !tasks_.contains(record.h.tid)) evict_unused();
  Task& task = tasks_[record.h.tid];
  task.used = ++clock_;
  auto& versions = task.versions;
  auto later = std::ranges::upper_bound(versions, name.since, {}, &TaskName::since);
  if (later != versions.begin()) {
    agree_on_start(*std::prev(later), name);
    agree_on_cgroup(*std::prev(later), name);
    agree_on_parent(*std::prev(later), name);
  }
  if (later != versions.end()) {
    agree_on_start(*later, name);
    agree_on_parent(name, *later);
  }
  if (later != versions.begin() && same_identity(*std::prev(later), name)) return;
  if (later != versions.end() && same_identity(*later, name)) {
    later->since = name.since;
    return;
  }
  versions.insert(later, name);
  if (versions.size() > versions_per_task_) versions.erase(versions.begin());
}

// Evicts a quarter at once, so that the cost of searching the oldest is spread over many additions.
void NameTable::evict_unused() {
  std::vector<uint64_t> uses;
  uses.reserve(tasks_.size());
  for (const auto& [tid, task] : tasks_) uses.push_back(task.used);
  auto limit = uses.begin() + static_cast<ptrdiff_t>(uses.size() / 4);
  std::ranges::nth_element(uses, limit);
  std::erase_if(tasks_,
                [oldest = *limit](const auto& entry) { return entry.second.used <= oldest; });
}

const TaskName* NameTable::task_at(uint32_t tid, uint64_t ts) const {
  auto found = tasks_.find(tid);
  if (found == tasks_.end()) return nullptr;
  found->second.used = ++clock_;
  const auto& versions = found->second.versions;
  const TaskName* name = &versions.back();
  if (name->since > ts) {  // rare in a live stream
    auto later = std::ranges::upper_bound(versions, ts, {}, &TaskName::since);
    name = later == versions.begin() ? &versions.front() : &*std::prev(later);
  }
  return name->tgid == 0 ? nullptr : name;
}

// The version of a leader since which it is in the control group that it has at that time; null if
// it was not moved.
const TaskName* NameTable::move_of(uint32_t leader, uint64_t ts) const {
  const auto found = tasks_.find(leader);
  if (found == tasks_.end()) return nullptr;
  const auto& versions = found->second.versions;
  auto version = std::ranges::upper_bound(versions, ts, {}, &TaskName::since);
  if (version == versions.begin()) return nullptr;
  for (--version; version != versions.begin(); --version) {
    const TaskName& before = *std::prev(version);
    if (before.start_time != version->start_time) return nullptr;  // another thread
    if (before.cgroup != 0 && before.cgroup != version->cgroup) return &*version;
  }
  return nullptr;
}

uint64_t NameTable::cgroup_at(uint32_t tid, uint64_t ts) const {
  const TaskName* task = task_at(tid, ts);
  if (task == nullptr) return 0;
  if (task->tgid == tid) return task->cgroup;
  const TaskName* move = move_of(task->tgid, ts);
  return move != nullptr && move->since > task->since ? move->cgroup : task->cgroup;
}

std::string_view NameTable::cgroup_path(uint64_t id) const {
  const auto found = cgroups_.find(id);
  return found == cgroups_.end() ? std::string_view{} : found->second;
}

std::string_view NameTable::cache_name(uint64_t key) const {
  auto found = caches_.find(key);
  return found == caches_.end() ? std::string_view{} : found->second;
}

}  // namespace ktraced
