// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/symbols/proc_commands.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/files/read_file.h"
#include "bpf/records.h"
#include "kernel/symbols/proc_threads.h"

namespace ktraced {
namespace {

// One byte more than is kept: whether there are more.
using CommandBytes = std::array<char, ARGV_MAX + 1>;

// Reads no more than that, so that the size of the arguments does not matter.
size_t read_cmdline(int process, CommandBytes& bytes) {
  const Fd file(::openat(process, "cmdline", O_RDONLY | O_CLOEXEC));
  const ssize_t size = file ? ::read(file.get(), bytes.data(), bytes.size()) : -1;
  return size > 0 ? static_cast<size_t>(size) : 0;
}

// Real, effective, saved and file system uid, if all are the same.
std::optional<uid_t> only_user_of(int process) {
  const auto status = read_file_at(process, "status", kProcBytesMax);
  if (!status) return std::nullopt;
  const std::vector<uint32_t> uids = numbers_behind("\nUid:", *status);
  if (uids.size() != 4 || std::ranges::count(uids, uids.front()) != std::ssize(uids))
    return std::nullopt;
  return uids.front();
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
  const auto user_before = only_user_of(process.get());
  CommandBytes bytes;
  const size_t size = read_cmdline(process.get(), bytes);
  ProcCommand command{.read_ns = boottime_ns(),
                      .uid = only_user_of(process.get()),
                      .text = command_text({bytes.data(), size}),
                      .cut = size > ARGV_MAX};
  if (command.uid != user_before) command.uid.reset();
  const auto start = start_in_stat(read_file_at(process.get(), "stat", kProcBytesMax).value_or(""));
  if (!start || size == 0) return std::nullopt;
  command.start_ns = *start;
  return command;
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
