// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/service/passed_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

#include <algorithm>
#include <vector>

namespace ktraced {

Result<std::optional<Fd>> take_passed_socket(const std::filesystem::path& path) {
  const int count = std::max(::sd_listen_fds(/*unset_environment=*/1), 0);
  std::vector<Fd> passed;
  passed.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) passed.emplace_back(SD_LISTEN_FDS_START + i);
  if (passed.empty()) return std::nullopt;
  if (passed.size() > 1)
    return fail(ExitCode::config,
                "the service manager has passed {} sockets instead of one; let the unit "
                "ktraced.socket have one ListenStream=",
                passed.size());
  const int fd = passed.front().get();
  if (::sd_is_socket_unix(fd, SOCK_STREAM, 1, path.c_str(), 0) <= 0)
    return fail(ExitCode::config,
                "the service manager has passed another socket than {}; control.socket and "
                "ListenStream= of the unit ktraced.socket must be the same path",
                path.string());
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
    return fail(ExitCode::os, "cannot use the socket of the service manager: {}",
                errno_text(errno));
  return std::move(passed.front());
}

}  // namespace ktraced
