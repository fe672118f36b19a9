// SPDX-License-Identifier: BSD-2-Clause
// Parts of a test that run as another user.
#pragma once

#include <grp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <functional>
#include <stdexcept>
#include <thread>

namespace ktraced::live {

// Runs `action` in a thread with these credentials and waits for its end. Peers of its sockets see
// these credentials. Throws if they cannot be set.
inline void as_user(uid_t uid, gid_t gid, const std::function<void()>& action) {
  bool became = false;
  std::thread([&] {
    // Uses system calls directly: the C library's functions change every thread.
    became = ::syscall(SYS_setgroups, 0, nullptr) == 0 &&
             ::syscall(SYS_setresgid, gid, gid, gid) == 0 &&
             ::syscall(SYS_setresuid, uid, uid, uid) == 0;
    if (became) action();
  }).join();
  if (!became) throw std::runtime_error("cannot become another user");
}

}  // namespace ktraced::live
