// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/service/service_user.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>

#include "unit/support/trace_directory.h"

namespace ktraced {
namespace {

constexpr uid_t kUser = 54'321;

// True if `check` is true in a child process.
bool in_child(const std::function<bool()>& check) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(check() ? 0 : 1);
  int status = 1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

bool has_only(uint32_t capabilities) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  return ::syscall(SYS_capget, &header, data.data()) == 0 && data[0].effective == capabilities &&
         data[0].permitted == capabilities && data[1].permitted == 0;
}

TEST(ServiceUser, KeepsNothingOfRootButTheRightToReadDirectories) {
  if (::geteuid() != 0) return;
  EXPECT_TRUE(in_child([] {
    return become_user(kUser, kUser).has_value() && ::getuid() == kUser && ::geteuid() == kUser &&
           ::getegid() == kUser && ::getgroups(0, nullptr) == 0 &&
           has_only(1U << CAP_DAC_READ_SEARCH) && ::setuid(0) != 0;
  }));
}

TEST(ServiceUser, IsNotTakenFromTheDirectoryOfAnotherUser) {
  const test::TempDirectory directory;
  const auto link = directory.path() / "link";
  std::filesystem::create_directory_symlink(directory.path(), link);
  EXPECT_TRUE(in_child([&] {
    const uid_t before = ::geteuid();
    for (const auto& path : {directory.path(), link, directory.path() / "nowhere"})
      if (!become_service_user(path) || ::geteuid() != before) return false;
    // Nobody has this uid.
    return ::chown(directory.path().c_str(), kUser, kUser) != 0 ||
           (become_service_user(directory.path()).has_value() && ::geteuid() == before);
  }));
}

}  // namespace
}  // namespace ktraced
