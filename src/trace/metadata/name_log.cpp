// SPDX-License-Identifier: BSD-2-Clause
#include "trace/metadata/name_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/text/json_dump.h"
#include "base/text/plain_text.h"

namespace ktraced {
namespace {

using nlohmann::json;

template <size_t Size>
std::string_view text_of(const char (&text)[Size]) {
  return {text, ::strnlen(text, Size)};
}

// The kernel's names are bytes, but JSON requires UTF-8: if the conversion changes a name, its
// bytes are written as an annotation.
std::string name_member(std::string_view key, std::string_view bytes) {
  std::string text = dump_json(json(bytes));
  std::string member = fmt::format("\"{}\":{}", key, text);
  if (!text.contains(kReplacementCharacter)) return member;
  member += fmt::format(",\"{}_hex\":\"", key);
  for (char c : bytes) member += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return member + '"';
}

// Nothing if it is not known.
std::string known_member(std::string_view key, uint64_t value) {
  return value != 0 ? fmt::format(",\"{}\":{}", key, value) : "";
}

bool same_identity(const rec_metadata_task& a, const rec_metadata_task& b) {
  return a.start_time == b.start_time && a.tgid == b.tgid && a.uid == b.uid &&
         a.cgroup == b.cgroup && std::ranges::equal(a.comm, b.comm);
}

// A record, of which the fields behind the first `min_size` bytes may be missing.
template <class Record>
std::optional<Record> read_record(RecordView view, size_t min_size = sizeof(Record)) {
  const auto bytes = view.bytes();
  if (bytes.size() < min_size) return std::nullopt;
  Record record{};
  std::memcpy(&record, bytes.data(), std::min(sizeof(record), bytes.size()));
  record.h.size = sizeof(record);
  return record;
}

// {"key":[ and the lines that `append` makes of `items`.
std::string list(std::string_view key, const auto& items, auto&& append) {
  std::string out = fmt::format("{{\"{}\":[", key);
  const char* before = "\n";
  for (const auto& item : items) {
    out += before;
    append(item, std::back_inserter(out));
    before = ",\n";
  }
  return out + "\n]}\n";
}

}  // namespace

void NameLog::add(std::span<const std::byte> records) {
  while (records.size() >= sizeof(record)) {
    RecordView view(records.data());
    const size_t size = view.bytes().size();
    if (size < sizeof(record) || size > records.size()) return;
    if (view.id() == METADATA_task) {
      if (const auto task = read_record<rec_metadata_task>(view, METADATA_TASK_MIN))
        add_task(*task);
    } else if (view.id() == METADATA_slab_cache) {
      if (const auto cache = read_record<rec_metadata_slab_cache>(view))
        caches_[cache->cache] = *cache;
    } else if (view.id() == METADATA_cgroup) {
      if (const auto cgroup =
              read_record<rec_metadata_cgroup>(view, offsetof(rec_metadata_cgroup, path)))
        if (cgroups_.contains(cgroup->cgroup) || has_room(sizeof(*cgroup)))
          cgroups_[cgroup->cgroup] = *cgroup;
    } else if (auto command = command_of(view)) {
      add_command(std::move(*command));
    } else {
      lost_.add(view);
    }
    records = records.subspan(size);
  }
}

// Beyond the limit a thread gets one more entry, which then changes. So there are never more of
// them than that limit and twice the thread ids of the machine.
void NameLog::add_task(const rec_metadata_task& task) {
  auto [found, is_new] = newest_.try_emplace(task.h.tid, Newest{.index = tasks_.size()});
  Newest& newest = found->second;
  if (!is_new && same_identity(tasks_[newest.index], task)) {
    rec_metadata_task& known = tasks_[newest.index];
    known.h.ts = std::min(known.h.ts, task.h.ts);
    if (known.parent == 0) known.parent = task.parent;
    return;
  }
  if (!is_new && tasks_.size() >= limits_.tasks) {
    rec_metadata_task& last = tasks_[newest.index];
    if (task.h.ts < last.h.ts) return lost_.add({.from = task.h.ts, .until = last.h.ts});
    if (std::exchange(newest.changes, true)) {
      lost_.add({.from = last.h.ts, .until = task.h.ts});
      last = task;
      return;
    }
  }
  // The last name may be reported again after older ones.
  if (is_new || task.h.ts >= tasks_[newest.index].h.ts) newest.index = tasks_.size();
  tasks_.push_back(task);
}

bool NameLog::has_room(size_t bytes) {
  others_missing_ = others_missing_ || other_bytes_ + bytes > limits_.other_bytes;
  if (!others_missing_) other_bytes_ += bytes;
  return !others_missing_;
}

void NameLog::add_command(CommandLine command) {
  const std::pair key(command.pid, command.start_ns);
  const auto known = commands_.find(key);
  if (known == commands_.end()) {
    if (has_room(sizeof(command) + command.text.size())) commands_.emplace(key, std::move(command));
  } else if (known->second.read_ns <= command.read_ns) {
    known->second = std::move(command);
  }
}

void NameLog::add(MappedFile file) {
  const auto known = files_.find(file.number);
  if (known != files_.end()) {
    if (file.build_id.empty()) file.build_id = std::move(known->second.build_id);
    known->second = std::move(file);
  } else if (files_.size() < kMaxMappedFiles && has_room(sizeof(file) + file.path.size())) {
    files_.emplace(file.number, std::move(file));
  }
}

void NameLog::add(JitFunction function) {
  if (has_room(sizeof(function) + function.name.size()))
    jit_functions_.push_back(std::move(function));
}

// The last report of a thread can say that it has ended.
std::optional<uint32_t> NameLog::user_of(const ProcessId& process) const {
  const rec_metadata_task* found = nullptr;
  for (const rec_metadata_task& task : tasks_)
    if (task.h.tid == process.tgid && (found == nullptr || found->h.ts <= task.h.ts) &&
        is_same_process({.tgid = task.tgid, .start_ns = task.start_time}, process))
      found = &task;
  return found == nullptr ? std::nullopt : std::optional(found->uid);
}

std::vector<std::string> NameLog::problems() const {
  std::vector<std::string> problems;
  if (std::string lost = lost_.text(); !lost.empty()) problems.push_back(std::move(lost));
  if (others_missing_)
    problems.push_back(
        fmt::format("paths of control groups and of mapped files, names of functions, and command "
                    "lines, are missing: there were more than {} MiB of them",
                    limits_.other_bytes >> 20));
  return problems;
}

std::vector<std::byte> NameLog::last() const {
  std::vector<std::byte> records;
  auto append = [&](const auto& name) {
    const auto bytes = std::as_bytes(std::span(&name, 1));
    records.insert(records.end(), bytes.begin(), bytes.end());
  };
  std::set<uint64_t> used;
  for (const auto& [tid, newest] : newest_) {
    append(tasks_[newest.index]);
    used.insert(tasks_[newest.index].cgroup);
  }
  for (const auto& [address, cache] : caches_) append(cache);
  for (const uint64_t id : used)
    if (const auto found = cgroups_.find(id); found != cgroups_.end()) append(found->second);
  return records;
}

std::string NameLog::tasks_json() const {
  return list("tasks", tasks_, [](const rec_metadata_task& task, auto out) {
    fmt::format_to(out,
                   "{{\"since_ns\":{},\"tid\":{},\"tgid\":{},\"uid\":{},\"start_ns\":{},{}{}{}}}",
                   task.h.ts, task.h.tid, task.tgid, task.uid, task.start_time,
                   name_member("comm", text_of(task.comm)), known_member("cgroup", task.cgroup),
                   known_member("parent", task.parent));
  });
}

std::string NameLog::cgroups_json() const {
  return list("cgroups", cgroups_, [](const auto& entry, auto out) {
    fmt::format_to(out, "{{\"id\":{},{}}}", entry.first,
                   name_member("path", text_of(entry.second.path)));
  });
}

std::string NameLog::commands_json() const {
  return list("commands", commands_, [](const auto& entry, auto out) {
    const CommandLine& command = entry.second;
    fmt::format_to(out, "{{\"read_ns\":{},\"pid\":{},\"start_ns\":{},{}{}{}}}", command.read_ns,
                   command.pid, command.start_ns, name_member("text", command.text),
                   command.cut ? ",\"cut\":true" : "", known_member("parent", command.parent));
  });
}

std::string NameLog::files_json() const {
  return list("files", files_, [](const auto& entry, auto out) {
    const MappedFile& file = entry.second;
    fmt::format_to(
        out, "{{\"number\":\"0x{:x}\",{},\"device\":{},\"inode\":{},\"changed_ns\":{}{}{}{}}}",
        file.number, name_member("path", file.path), file.device, file.inode, file.changed_ns,
        file.build_id.empty() ? "" : fmt::format(",\"build_id\":\"{}\"", file.build_id),
        file.deleted ? ",\"deleted\":true" : "", file.cut ? ",\"cut\":true" : "");
  });
}

std::string NameLog::jit_json() const {
  return list("functions", jit_functions_, [](const JitFunction& function, auto out) {
    fmt::format_to(out, "{{\"tgid\":{},\"start_ns\":{},\"address\":\"0x{:x}\",\"size\":{},{}}}",
                   function.process.tgid, function.process.start_ns, function.address,
                   function.size, name_member("name", function.name));
  });
}

std::string NameLog::caches_json() const {
  return list("caches", caches_, [](const auto& entry, auto out) {
    const rec_metadata_slab_cache& cache = entry.second;
    fmt::format_to(out, "{{\"since_ns\":{},\"cache\":\"0x{:x}\",{}}}", cache.h.ts, cache.cache,
                   name_member("name", text_of(cache.name)));
  });
}

}  // namespace ktraced
