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

struct Capabilities {
  uint64_t permitted = 0, effective = 0;
};

Capabilities capabilities() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return {};
  return {.permitted = uint64_t{data[1].permitted} << 32 | data[0].permitted,
          .effective = uint64_t{data[1].effective} << 32 | data[0].effective};
}

TEST(ServiceUser, KeepsNothingOfRootButTheCapabilitiesThatItIsGiven) {
  if (::geteuid() != 0) return;
  const uint64_t of_root = capabilities().permitted;
  for (const uint64_t given : {kCleanupCapabilities, kTracingCapabilities})
    EXPECT_TRUE(in_child([given, of_root] {
      return become_user(kUser, kUser, given).has_value() && ::getuid() == kUser &&
             ::geteuid() == kUser && ::getegid() == kUser && ::getgroups(0, nullptr) == 0 &&
             capabilities().permitted == (given & of_root) &&
             capabilities().effective == (given & of_root) && ::setuid(0) != 0;
    }));
}

TEST(ServiceUser, IsNotTakenFromTheDirectoryOfAnotherUser) {
  const test::TempDirectory directory;
  const auto link = directory.path() / "link";
  std::filesystem::create_directory_symlink(directory.path(), link);
  EXPECT_TRUE(in_child([&] {
    const uid_t before = ::geteuid();
    const auto stays = [before](const std::filesystem::path& path) {
      return become_service_user(path, kCleanupCapabilities) == false && ::geteuid() == before;
    };
    for (const auto& path : {directory.path(), link, directory.path() / "nowhere"})
      if (!stays(path)) return false;
    // Nobody has this uid.
    return ::chown(directory.path().c_str(), kUser, kUser) != 0 ||
           (stays(directory.path()) && stays(directory.path() / "below"));
  }));
}

}  // namespace
}  // namespace ktraced
