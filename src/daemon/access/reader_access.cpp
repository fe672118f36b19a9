// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/access/reader_access.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/files/lines.h"
#include "base/files/own_directory.h"
#include "base/files/read_file.h"

namespace ktraced {
namespace {

constexpr size_t kSettingBytes = 64;
constexpr mode_t kForOthers = S_IRWXG | S_IRWXO;
constexpr mode_t kGroupReads = S_IRGRP | S_IXGRP;

std::optional<int> setting(const std::filesystem::path& file) {
  return number_behind<int>("", read_file(file, kSettingBytes).value_or(""));
}

mode_t initial_umask() {
  static const mode_t mask = [] {
    const mode_t current = ::umask(kForOthers);
    ::umask(current);
    return current;
  }();
  return mask;
}

}  // namespace

bool kernel_shows_addresses(const std::filesystem::path& settings) {
  const auto restricted = setting(settings / "kptr_restrict");
  const auto paranoid = setting(settings / "perf_event_paranoid");
  return restricted == 0 && paranoid && *paranoid <= 1;
}

std::shared_ptr<AddressMask> ReaderAccess::mask_for_trace(const Schema& schema) const {
  const ReaderRules rules = this->rules();
  const HiddenAddresses hidden{.kernel = !rules.real_addresses, .user = !rules.real_user_addresses};
  if (!hidden.any() || !rules.may_open_traces()) return nullptr;
  return std::make_shared<AddressMask>(pseudonyms_, schema, hidden);
}

// The kernel resets two settings of a process with another group: whether it leaves core dumps, and
// the signal that it gets when its parent ends.
void make_files_for(const std::optional<gid_t>& readers) {
  const gid_t group = readers.value_or(::getgid());
  if (group == ::getegid()) return;
  int signal = 0;
  ::prctl(PR_GET_PDEATHSIG, &signal);
  const int dumpable = ::prctl(PR_GET_DUMPABLE);
  if (::setegid(group) == 0) {
    ::prctl(PR_SET_DUMPABLE, dumpable);
    ::prctl(PR_SET_PDEATHSIG, signal);
    return;
  }
  spdlog::warn(
      "traces do not belong to the group of control.group (gid {}): {}; run ktraced as root, or in "
      "that group: Group= in the unit ktraced.service",
      group, errno_text(errno));
}

void set_file_modes(const ReaderRules& rules) {
  ::umask(initial_umask() | (rules.own_only ? kForOthers : 0));
}

void set_directory_mode(const std::filesystem::path& directory, const ReaderRules& rules,
                        bool reopen) {
  const auto fd = open_trusted_directory(directory);
  struct stat status{};
  if (!fd || ::fstat(fd->get(), &status) != 0 || status.st_uid != ::geteuid()) return;
  mode_t mode = status.st_mode & 07777U;
  if (rules.own_only)
    mode &= ~kForOthers;
  else if (reopen)
    mode |= kGroupReads;
  if (mode != (status.st_mode & 07777U)) ::fchmod(fd->get(), mode);
}

}  // namespace ktraced
