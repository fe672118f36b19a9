// SPDX-License-Identifier: BSD-2-Clause
// A disk without room.
#pragma once

#include <signal.h>
#include <sys/resource.h>

#include <cstdint>

namespace ktraced::test {

// A disk that refuses to let files grow beyond a size, for every user: EFBIG instead of ENOSPC. A
// write across it is short.
class RefusingDisk {
 public:
  explicit RefusingDisk(uint64_t bytes = 0) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  RefusingDisk(const RefusingDisk&) = delete;
  RefusingDisk& operator=(const RefusingDisk&) = delete;
  ~RefusingDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  sighandler_t handler_ = nullptr;
};

}  // namespace ktraced::test
