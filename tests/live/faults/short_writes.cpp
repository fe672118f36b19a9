// SPDX-License-Identifier: BSD-2-Clause
// Loaded into a program by LD_PRELOAD: each of its writev() asks the kernel for half of the bytes.
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <vector>

extern "C" ssize_t writev(int fd, const iovec* parts, int count) {
  const std::span whole(parts, static_cast<size_t>(count));
  size_t bytes = 0;
  for (const iovec& part : whole) bytes += part.iov_len;
  size_t left = (bytes + 1) / 2;
  std::vector<iovec> half(whole.begin(), whole.end());
  for (iovec& part : half) {
    part.iov_len = std::min(part.iov_len, left);
    left -= part.iov_len;
  }
  return ::syscall(SYS_writev, fd, half.data(), count);
}
