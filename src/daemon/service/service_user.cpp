// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/service/service_user.h"

#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace ktraced {
namespace {

constexpr const char* kServiceUser = "ktraced";  // User= in the unit
constexpr size_t kEntryBytes = 64U << 10;

std::unexpected<Error> cannot_become(uid_t uid, int error) {
  return fail(ExitCode::os, "cannot become uid {}, whose directories are used: {}", uid,
              errno_text(error));
}

// A capability that the process lacks cannot be gained.
bool keep_capabilities(uint64_t capabilities) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return false;
  for (size_t i = 0; i < data.size(); ++i) {
    data[i].permitted &= static_cast<uint32_t>(capabilities >> (32 * i));
    data[i].effective = data[i].permitted;
    data[i].inheritable = 0;
  }
  return ::syscall(SYS_capset, &header, data.data()) == 0;
}

// LimitRTPRIO=1 of the unit: root needs no limit for a real-time priority, but this user does.
void allow_realtime() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_RTPRIO, &limit) != 0 || limit.rlim_cur != 0) return;
  limit = {.rlim_cur = 1, .rlim_max = limit.rlim_max != 0 ? limit.rlim_max : 1};
  ::setrlimit(RLIMIT_RTPRIO, &limit);
}

bool is_directory_of(const std::filesystem::path& path, uid_t uid) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == uid;
}

}  // namespace

Result<> become_user(uid_t uid, gid_t gid, uint64_t capabilities) {
  if (::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || ::setgroups(0, nullptr) != 0 ||
      ::setresgid(gid, gid, gid) != 0 || ::setresuid(uid, uid, uid) != 0 ||
      !keep_capabilities(capabilities))
    return cannot_become(uid, errno);
  return {};
}

Result<bool> become_service_user(const std::filesystem::path& path, uint64_t capabilities,
                                 std::optional<gid_t> group) {
  if (::geteuid() != 0) return false;
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, kEntryBytes> buffer{};
  ::getpwnam_r(kServiceUser, &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr || entry.pw_uid == 0) return false;
  std::filesystem::path directory = (path / "").lexically_normal().parent_path();
  while (!is_directory_of(directory, entry.pw_uid)) {
    if (!directory.has_relative_path()) return false;
    directory = directory.parent_path();
  }
  allow_realtime();
  if (auto became = become_user(entry.pw_uid, group.value_or(entry.pw_gid), capabilities); !became)
    return propagate(became);
  return true;
}

}  // namespace ktraced
