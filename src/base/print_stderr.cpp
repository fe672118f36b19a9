// SPDX-License-Identifier: BSD-2-Clause
#include "base/print_stderr.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace ktraced {

void write_stderr(std::string_view text, std::chrono::milliseconds limit) noexcept {
  const int timeout = limit.count() == 0 ? -1 : static_cast<int>(limit.count());
  while (!text.empty()) {
    pollfd ready{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    if (::poll(&ready, 1, timeout) == 0) return;
    // A pipe that is ready for writing accepts PIPE_BUF bytes without blocking.
    const ssize_t written =
        ::write(STDERR_FILENO, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
    if (written < 0 && errno != EINTR && errno != EAGAIN) return;
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace ktraced
