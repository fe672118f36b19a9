// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/service/service_user.h"

#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
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
  return fail(ExitCode::os, "cannot become uid {}, whose files are to be removed: {}", uid,
              errno_text(error));
}

// Only CAP_DAC_READ_SEARCH: /sys/fs/bpf is closed to users.
bool keep_one_capability() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  data[0].effective = data[0].permitted = 1U << CAP_DAC_READ_SEARCH;
  return ::syscall(SYS_capset, &header, data.data()) == 0;
}

}  // namespace

Result<> become_user(uid_t uid, gid_t gid) {
  if (::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || ::setgroups(0, nullptr) != 0 ||
      ::setresgid(gid, gid, gid) != 0 || ::setresuid(uid, uid, uid) != 0 || !keep_one_capability())
    return cannot_become(uid, errno);
  return {};
}

Result<> become_service_user(const std::filesystem::path& path) {
  struct stat status{};
  if (::geteuid() != 0 || ::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      status.st_uid == 0)
    return {};
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, kEntryBytes> buffer{};
  ::getpwnam_r(kServiceUser, &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr || entry.pw_uid != status.st_uid) return {};
  return become_user(entry.pw_uid, entry.pw_gid);
}

}  // namespace ktraced
