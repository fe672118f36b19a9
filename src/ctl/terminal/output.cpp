// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/terminal/output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace ktraced {

Result<bool> write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EPIPE) {
      return false;
    } else if (errno == EAGAIN) {  // a process that shares the file has made it non-blocking
      pollfd wait{fd, POLLOUT, 0};
      ::poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return fail(ExitCode::io, "cannot write the output: {}", errno_text(errno));
    }
  }
  return true;
}

}  // namespace ktraced
