// SPDX-License-Identifier: BSD-2-Clause
#include "trace/directory/name_files.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <deque>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/directory/bounded_json.h"
#include "trace/metadata/name_log.h"

namespace ktraced {
namespace {

using nlohmann::json;

// Takes one entry; false if it is invalid.
using TakeEntry = std::function<bool(const std::string& key, const json& value)>;

// How much a file may have: what a writer writes at most.
struct FileLimits {
  size_t entries = 0;
  uint64_t bytes = uint64_t{1} << 30;
};

constexpr NameLog::Limits kWritten;
constexpr FileLimits kTaskLimits = {.entries = kWritten.task_entries(), .bytes = uint64_t{4} << 30};
constexpr FileLimits kCacheLimits = {.entries = NameTable::kMaxCaches};
constexpr FileLimits kCgroupLimits = {.entries =
                                          kWritten.other_bytes / sizeof(rec_metadata_cgroup)};
constexpr FileLimits kCommandLimits = {.entries = kWritten.other_bytes / sizeof(CommandLine)};
constexpr FileLimits kMappedFileLimits = {.entries = kMaxMappedFiles};
constexpr FileLimits kJitLimits = {.entries = kWritten.other_bytes / sizeof(JitFunction)};
constexpr FileLimits kSymbolLimits = {.entries = kMaxSymbols};

// Reads {"NAME":[entry,…]} or {"NAME":{key:entry,…}} with any NAME, and keeps nothing.
Result<> read_entries(const TraceDirectory& trace, const char* name, const FileLimits& limits,
                      const TakeEntry& take) {
  auto in = trace.open_stream(name, limits.bytes);
  if (!in) return propagate(in);
  const std::string file = (trace.path() / name).string();
  // An entry has only a few short texts and numbers: the longest one is a command line, of which
  // each byte is escaped.
  const JsonLimits of_entries = {
      .depth = 8, .values = 1000, .entries = limits.entries, .text_bytes = size_t{8} * ARGV_MAX};
  size_t entries = 0;
  std::optional<size_t> bad;
  auto document =
      parse_json_entries(in->get(), of_entries, [&](const std::string& key, json&& entry) {
        ++entries;
        if (!bad && !take(key, entry)) bad = entries;
      });
  if (!document) return fail(document.error().code, "{} {}", file, document.error().message);
  if (!document->is_object() || document->size() != 1)
    return fail(ExitCode::data, "{} has an unexpected form: it must be an object of one list",
                file);
  if (bad) return fail(ExitCode::data, "{} is damaged: entry {} is invalid", file, *bad);
  return {};
}

template <class Integer>
bool read_integer(const json& entry, const char* key, Integer& value) {
  auto found = entry.find(key);
  if (found == entry.end() || !found->is_number_unsigned()) return false;
  const auto wide = found->get<uint64_t>();
  value = static_cast<Integer>(wide);
  return static_cast<uint64_t>(value) == wide;
}

bool read_hex(std::string_view text, uint64_t& value) {
  if (!text.starts_with("0x")) return false;
  const char* end = text.data() + text.size();
  auto result = std::from_chars(text.data() + 2, end, value, 16);
  return result.ec == std::errc() && result.ptr == end;
}

bool read_hex_member(const json& entry, const char* key, uint64_t& value) {
  const auto found = entry.find(key);
  return found != entry.end() && found->is_string() &&
         read_hex(found->get_ref<const std::string&>(), value);
}

// The bytes of a name: in KEY_hex if they are not UTF-8, else in KEY.
bool read_bytes(const json& entry, const std::string& key, std::string& bytes) {
  auto text = entry.find(key);
  if (text == entry.end() || !text->is_string()) return false;
  bytes = text->get<std::string>();
  if (auto hex = entry.find(key + "_hex"); hex != entry.end() && hex->is_string()) {
    const auto& digits = hex->get_ref<const std::string&>();
    bytes.clear();
    for (size_t at = 0; at + 2 <= digits.size(); at += 2) {
      uint8_t byte = 0;
      std::from_chars(digits.data() + at, digits.data() + at + 2, byte, 16);
      bytes += static_cast<char>(byte);
    }
  }
  return true;
}

template <size_t Size>
bool read_name(const json& entry, const std::string& key, char (&name)[Size]) {
  std::string bytes;
  if (!read_bytes(entry, key, bytes)) return false;
  std::memset(name, 0, Size);
  bytes.copy(name, Size);
  return true;
}

template <class Record>
bool apply(Record record, u16 id, NameTable& names) {
  record.h.id = id;
  record.h.size = sizeof(record);
  return names.apply(RecordView(reinterpret_cast<const std::byte*>(&record)));
}

}  // namespace

// Inserting a version of a thread before a later one moves that one: in time order none moves.
Result<> read_tasks(const TraceDirectory& trace, NameTable& names) {
  std::deque<rec_metadata_task> tasks;
  std::optional<u32> bad_tid;
  auto done =
      read_entries(trace, kTasksFile, kTaskLimits, [&](const std::string&, const json& entry) {
        rec_metadata_task task{};
        if (!entry.is_object() || !read_integer(entry, "since_ns", task.h.ts) ||
            !read_integer(entry, "tid", task.h.tid) || !read_integer(entry, "tgid", task.tgid) ||
            !read_integer(entry, "uid", task.uid) ||
            !read_integer(entry, "start_ns", task.start_time) ||
            !read_name(entry, "comm", task.comm))
          return false;
        if (entry.contains("cgroup") && !read_integer(entry, "cgroup", task.cgroup)) return false;
        if (entry.contains("parent") && !read_integer(entry, "parent", task.parent)) return false;
        if (task.h.tid >= NameLog::Limits::kThreadIds) bad_tid = bad_tid.value_or(task.h.tid);
        if (!bad_tid) tasks.push_back(task);
        return true;
      });
  std::ranges::stable_sort(tasks, {}, [](const rec_metadata_task& task) { return task.h.ts; });
  for (; !tasks.empty(); tasks.pop_front()) apply(tasks.front(), METADATA_task, names);
  if (done && bad_tid)
    return fail(ExitCode::data,
                "{} is damaged: it has the thread id {}; those of a kernel are below {}",
                (trace.path() / kTasksFile).string(), *bad_tid, NameLog::Limits::kThreadIds);
  return done;
}

Result<> read_caches(const TraceDirectory& trace, NameTable& names) {
  return read_entries(trace, kCachesFile, kCacheLimits, [&](const std::string&, const json& entry) {
    rec_metadata_slab_cache cache{};
    uint64_t address = 0;
    if (!entry.is_object() || !read_hex_member(entry, "cache", address) ||
        !read_name(entry, "name", cache.name))
      return false;
    cache.cache = address;
    return apply(cache, METADATA_slab_cache, names);
  });
}

Result<> read_cgroups(const TraceDirectory& trace, NameTable& names) {
  return read_entries(trace, kCgroupsFile, kCgroupLimits,
                      [&](const std::string&, const json& entry) {
                        rec_metadata_cgroup cgroup{};
                        if (!entry.is_object() || !read_integer(entry, "id", cgroup.cgroup) ||
                            !read_name(entry, "path", cgroup.path))
                          return false;
                        return apply(cgroup, METADATA_cgroup, names);
                      });
}

Result<> read_commands(const TraceDirectory& trace, NameTable& names) {
  return read_entries(
      trace, kCommandsFile, kCommandLimits, [&](const std::string&, const json& entry) {
        CommandLine command;
        if (!entry.is_object() || !read_integer(entry, "read_ns", command.read_ns) ||
            !read_integer(entry, "pid", command.pid) ||
            !read_integer(entry, "start_ns", command.start_ns) ||
            !read_bytes(entry, "text", command.text))
          return false;
        if (const auto cut = entry.find("cut"); cut != entry.end()) command.cut = *cut == true;
        if (entry.contains("parent") && !read_integer(entry, "parent", command.parent))
          return false;
        std::vector<std::byte> record;
        append_command_record(command, record);
        return names.apply(RecordView(record.data()));
      });
}

Result<> read_files(const TraceDirectory& trace, std::vector<MappedFile>& files) {
  return read_entries(
      trace, kFilesFile, kMappedFileLimits, [&](const std::string&, const json& entry) {
        MappedFile file;
        if (!entry.is_object() || !read_hex_member(entry, "number", file.number) ||
            !read_bytes(entry, "path", file.path) || !read_integer(entry, "device", file.device) ||
            !read_integer(entry, "inode", file.inode) ||
            !read_integer(entry, "changed_ns", file.changed_ns) ||
            (file.number & kFileNumberBit) == 0)
          return false;
        if (const auto id = entry.find("build_id"); id != entry.end()) {
          if (!id->is_string() || !is_build_id(id->get_ref<const std::string&>())) return false;
          file.build_id = id->get<std::string>();
        }
        if (const auto deleted = entry.find("deleted"); deleted != entry.end())
          file.deleted = *deleted == true;
        if (const auto cut = entry.find("cut"); cut != entry.end()) file.cut = *cut == true;
        files.push_back(std::move(file));
        return true;
      });
}

Result<> read_jit_functions(const TraceDirectory& trace, std::vector<JitFunction>& functions) {
  auto done = read_entries(trace, kJitFile, kJitLimits, [&](const std::string&, const json& entry) {
    JitFunction function;
    if (!entry.is_object() || !read_integer(entry, "tgid", function.process.tgid) ||
        !read_integer(entry, "start_ns", function.process.start_ns) ||
        !read_hex_member(entry, "address", function.address) ||
        !read_integer(entry, "size", function.size) || !read_bytes(entry, "name", function.name))
      return false;
    functions.push_back(std::move(function));
    return true;
  });
  sort_jit_functions(functions);
  return done;
}

Result<> read_symbols(const TraceDirectory& trace, SymbolMap& symbols) {
  return read_entries(trace, kSymbolsFile, kSymbolLimits,
                      [&](const std::string& key, const json& value) {
                        uint64_t address = 0;
                        if (!value.is_string() || !read_hex(key, address)) return false;
                        symbols[address] = value.get<std::string>();
                        return true;
                      });
}

}  // namespace ktraced
