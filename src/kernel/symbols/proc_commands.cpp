// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/symbols/proc_commands.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/clock.h"
#include "base/fd.h"
#include "base/files/lines.h"
#include "base/files/read_file.h"
#include "bpf/records.h"
#include "kernel/symbols/proc_threads.h"

namespace ktraced {
namespace {

constexpr int kFlagsField = 9;                  // of a "stat" file
constexpr uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD of the kernel

// One byte more than is kept: whether there are more.
using CommandBytes = std::array<char, ARGV_MAX + 1>;

// Reads no more than that, so that the size of the arguments does not matter.
size_t read_cmdline(int process, CommandBytes& bytes) {
  const Fd file(::openat(process, "cmdline", O_RDONLY | O_CLOEXEC));
  const ssize_t size = file ? ::read(file.get(), bytes.data(), bytes.size()) : -1;
  return size > 0 ? static_cast<size_t>(size) : 0;
}

struct ProcStatus {
  std::optional<uid_t>
      only_user;  // real, effective, saved and file system uid, if all are the same
  uint32_t parent = 0;
};

ProcStatus status_of(int process) {
  const auto status = read_file_at(process, "status", kProcBytesMax);
  if (!status) return {};
  const auto uids = numbers_behind<uint32_t>("\nUid:", *status);
  ProcStatus result{.only_user = std::nullopt,
                    .parent = number_behind<uint32_t>("\nPPid:", *status).value_or(0)};
  if (uids.size() == 4 && std::ranges::count(uids, uids.front()) == std::ssize(uids))
    result.only_user = uids.front();
  return result;
}

}  // namespace

std::string command_text(std::string_view cmdline) {
  std::string text(cmdline.substr(0, std::min<size_t>(cmdline.size(), ARGV_MAX)));
  while (text.ends_with('\0')) text.pop_back();
  for (char& c : text) {
    if (c == ' ')
      c = LOCATED_WORD_BLANK;
    else if (c == '\0')
      c = ' ';
  }
  return text;
}

// All files belong to one process: an open directory of /proc is not that of a later process with
// the same id.
std::optional<ProcCommand> proc_command(uint32_t pid) {
  const std::string path = "/proc/" + std::to_string(pid);
  const Fd process(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!process) return std::nullopt;
  // Before the text: a process that changes its user while it is read has several.
  const auto user_before = status_of(process.get()).only_user;
  CommandBytes bytes;
  const size_t size = read_cmdline(process.get(), bytes);
  const uint64_t read_ns = boottime_ns();
  const ProcStatus status = status_of(process.get());
  ProcCommand command{.read_ns = read_ns,
                      .uid = status.only_user,
                      .text = command_text({bytes.data(), size}),
                      .cut = size > ARGV_MAX,
                      .parent = status.parent};
  if (command.uid != user_before) command.uid.reset();
  const auto start = start_in_stat(read_file_at(process.get(), "stat", kProcBytesMax).value_or(""));
  if (!start || size == 0) return std::nullopt;
  command.start_ns = *start;
  return command;
}

std::optional<ProcProgram> proc_program(uint32_t pid) {
  const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat", kProcBytesMax);
  const auto start = start_in_stat(stat.value_or(""));
  if (!start || (number_in_stat(*stat, kFlagsField).value_or(0) & kKernelThread) != 0)
    return std::nullopt;
  const size_t begin = stat->find('('), end = stat->rfind(')');  // a name may contain both
  if (begin >= end) return std::nullopt;
  const std::string_view comm = std::string_view(*stat).substr(begin + 1, end - begin - 1);
  return ProcProgram{.start_ns = *start, .comm = std::string(comm_of_proc(comm))};
}

void for_each_proc_process(const std::function<bool(uint32_t pid)>& visit,
                           const std::filesystem::path& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> ids(::opendir(directory.c_str()), ::closedir);
  if (!ids) return;
  while (const dirent* entry = ::readdir(ids.get())) {
    const auto pid = proc_id(entry->d_name);
    if (pid && !visit(*pid)) return;
  }
}

}  // namespace ktraced
