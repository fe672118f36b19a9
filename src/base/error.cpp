// SPDX-License-Identifier: BSD-2-Clause
#include "base/error.h"

#include <cerrno>
#include <system_error>

namespace ktraced {

std::string errno_text(int error) {
  switch (error) {
    case EMFILE:
      return "too many open files; raise LimitNOFILE of the service (or ulimit -n)";
    case ENFILE:
      return "too many open files in the whole system; raise the sysctl fs.file-max";
    case ENOMEM:
      return "out of memory";
    default:
      return std::generic_category().message(error);
  }
}

bool is_transient(int error) {
  return error == ENOMEM || error == EMFILE || error == ENFILE || error == EAGAIN || error == EINTR;
}

}  // namespace ktraced
