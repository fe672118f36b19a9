// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/symbols/proc_threads.h"

#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

#include "base/files/directory.h"
#include "base/files/lines.h"
#include "base/files/read_file.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

Result<task_info> read_thread(const fs::path& thread, uint32_t tgid) {
  task_info info{};
  auto status = read_file(thread / "status", kProcBytesMax);
  if (!status) return propagate(status);
  auto text = read_file(thread / "comm", kProcBytesMax);
  if (!text) return propagate(text);
  info.uid = number_behind<uint32_t>("\nUid:", *status).value_or(0);
  info.parent = number_behind<uint32_t>("\nPPid:", *status).value_or(0);
  const std::string_view comm = comm_of_proc(*text);
  comm.copy(info.comm, sizeof(info.comm) - 1);
  info.tgid = tgid;
  info.start_time =
      start_in_stat(read_file(thread / "stat", kProcBytesMax).value_or("")).value_or(0);
  return info;
}

}  // namespace

std::optional<uint32_t> proc_id(std::string_view name) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return value;
}

std::optional<ProcProcess> process_with_thread(uint32_t id) {
  const fs::path proc = "/proc";
  const auto status = read_file(proc / std::to_string(id) / "status", kProcBytesMax);
  const uint32_t tgid = number_behind<uint32_t>("\nTgid:", status.value_or("")).value_or(0);
  const auto stat = read_file(proc / std::to_string(tgid) / "stat", kProcBytesMax);
  const auto start = start_in_stat(stat.value_or(""));
  if (!start) return std::nullopt;
  return ProcProcess{.tgid = tgid, .start_time = *start};
}

std::string_view comm_of_proc(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  const bool worker = text.starts_with("kworker/") && !text.starts_with("kworker/R-");
  return worker ? text.substr(0, text.find_first_of("+-")) : text;
}

Result<> for_each_proc_thread(const std::function<void(uint32_t tid, const task_info&)>& visit) {
  // Processes and threads end while we look at them; the first other error is the result.
  Result<> result;
  auto note = [&](const auto& read) {
    if (!read && read.error().code != ExitCode::data && result)
      result = std::unexpected(read.error());
    return read.has_value();
  };
  note(for_each_entry("/proc", [&](const fs::directory_entry& process) {
    auto tgid = proc_id(process.path().filename().native());
    if (!tgid) return;
    note(for_each_entry(process.path() / "task", [&](const fs::directory_entry& thread) {
      auto tid = proc_id(thread.path().filename().native());
      if (!tid) return;
      if (const auto info = read_thread(thread.path(), *tgid); note(info)) visit(*tid, *info);
    }));
  }));
  return result;
}

}  // namespace ktraced
