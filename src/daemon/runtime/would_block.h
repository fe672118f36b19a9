// SPDX-License-Identifier: BSD-2-Clause
// Errors of non-blocking sockets.
#pragma once

#include <cerrno>

namespace ktraced {

// True if a call on a non-blocking socket has done nothing and can be repeated when the event loop
// finds the socket ready.
[[nodiscard]] inline bool would_block(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace ktraced
