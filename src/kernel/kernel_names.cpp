#include "kernel/kernel_names.h"

#include <bpf/bpf.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "kernel/map_elements.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

std::optional<uint32_t> number(const fs::path& name) {
  const std::string text = name.filename();
  uint32_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Nanoseconds since boot at which a thread began: field 22 of its stat file, in clock ticks.
uint64_t start_time(const fs::path& thread) {
  std::ifstream file(thread / "stat");
  std::string line;
  std::getline(file, line);
  size_t at = line.rfind(')');  // ends comm, which may contain anything
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = line.find(' ', at + 1);
  if (at == std::string::npos) return 0;
  static const auto ns_per_tick = 1'000'000'000U / static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  return std::strtoull(line.c_str() + at, nullptr, 10) * ns_per_tick;
}

std::optional<task_info> read_thread(const fs::path& thread, uint32_t tgid) {
  task_info info{};
  std::ifstream status(thread / "status");
  bool found = false;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Uid:"))
      info.uid = static_cast<uint32_t>(std::strtoul(line.c_str() + 4, nullptr, 10));
    found = true;
  }
  if (!found) return std::nullopt;
  std::ifstream file(thread / "comm", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string_view comm = comm_of_proc(text);
  comm.copy(info.comm, sizeof(info.comm) - 1);
  info.tgid = tgid;
  info.start_time = start_time(thread);
  return info;
}

template <class Record>
void append(std::vector<std::byte>& out, const Record& record) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&record);
  out.insert(out.end(), bytes, bytes + sizeof(record));
}

}  // namespace

std::string_view comm_of_proc(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  const bool worker = text.starts_with("kworker/") && !text.starts_with("kworker/R-");
  return worker ? text.substr(0, text.find_first_of("+-")) : text;
}

KernelNames::KernelNames(const BpfObject& object)
    : tasks_map_(object.map_fd("tasks")), caches_map_(object.map_fd("caches")) {}

void KernelNames::enter_living_threads() const {
  std::error_code ignored;  // processes end while we look at them
  for (const auto& process : fs::directory_iterator("/proc", ignored)) {
    auto tgid = number(process.path());
    if (!tgid) continue;
    for (const auto& thread : fs::directory_iterator(process.path() / "task", ignored)) {
      auto tid = number(thread.path());
      task_info known{};
      if (!tid || bpf_map_lookup_elem(tasks_map_, &*tid, &known) == 0) continue;
      // The programs know better than /proc: never replace what they wrote meanwhile.
      if (auto info = read_thread(thread.path(), *tgid))
        bpf_map_update_elem(tasks_map_, &*tid, &*info, BPF_NOEXIST);
    }
  }
}

std::vector<std::byte> KernelNames::all() const {
  std::vector<std::byte> out;
  for_each_element<uint32_t, task_info>(tasks_map_, [&](uint32_t tid, const task_info& info) {
    rec_name_task r{};
    // Valid from the thread's start as far as anybody can still tell.
    r.h = {.ts = info.start_time, .id = NAME_task, .size = sizeof(r), .tid = tid};
    r.tgid = info.tgid;
    r.uid = info.uid;
    r.start_time = info.start_time;
    std::memcpy(r.comm, info.comm, sizeof(r.comm));
    append(out, r);
  });
  for_each_element<uint64_t, cache_info>(caches_map_, [&](uint64_t key, const cache_info& info) {
    rec_name_slab_cache r{};
    r.h = {.ts = 0, .id = NAME_slab_cache, .size = sizeof(r), .tid = 0};
    r.cache = key;
    std::memcpy(r.name, info.name, sizeof(r.name));
    append(out, r);
  });
  return out;
}

}  // namespace ktraced
