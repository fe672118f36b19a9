// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/service/passed_sockets.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

namespace ktraced {
namespace {

struct NamedSocket {
  std::string name;
  Fd fd;
};

// systemd names a socket after its unit if that has no FileDescriptorName=, and libsystemd calls
// one "unknown" if LISTEN_FDNAMES is not set.
bool is_control(std::string_view name) {
  return name == "control" || name == "ktraced.socket" || name == "unknown";
}

// Owns all that were passed.
Result<std::vector<NamedSocket>> take_all() {
  char** names = nullptr;
  const int count = ::sd_listen_fds_with_names(/*unset_environment=*/1, &names);
  if (count < 0)
    return fail(ExitCode::config,
                "LISTEN_FDS and LISTEN_FDNAMES, with which the service manager passes sockets, "
                "contradict each other or are no list: {}",
                errno_text(-count));
  std::vector<NamedSocket> sockets;
  for (int i = 0; i < count; ++i) {
    const std::unique_ptr<char, decltype(&std::free)> name(names[i], &std::free);
    sockets.push_back({name.get(), Fd(SD_LISTEN_FDS_START + i)});
  }
  std::free(names);
  return sockets;
}

Result<> put(std::optional<Fd>& place, NamedSocket socket, std::string_view unit) {
  if (place)
    return fail(ExitCode::config,
                "the service manager has passed several sockets with the name '{}'; let the unit "
                "{} have one ListenStream=",
                socket.name, unit);
  const int flags = ::fcntl(socket.fd.get(), F_GETFL);
  if (flags < 0 || ::fcntl(socket.fd.get(), F_SETFL, flags | O_NONBLOCK) < 0)
    return fail(ExitCode::os, "cannot use the socket '{}' of the service manager: {}", socket.name,
                errno_text(errno));
  place = std::move(socket.fd);
  return {};
}

}  // namespace

Result<PassedSockets> take_passed_sockets(const std::filesystem::path& control_path) {
  auto sockets = take_all();
  if (!sockets) return propagate(sockets);
  PassedSockets passed;
  for (NamedSocket& socket : *sockets) {
    const bool control = is_control(socket.name);
    if (!control && socket.name != "metrics")
      return fail(ExitCode::config,
                  "the service manager has passed a socket with the name '{}'; give its unit "
                  "FileDescriptorName=control or FileDescriptorName=metrics",
                  socket.name);
    auto put_there = control ? put(passed.control, std::move(socket), "ktraced.socket")
                             : put(passed.metrics, std::move(socket), "ktraced-metrics.socket");
    if (!put_there) return propagate(put_there);
  }
  if (passed.control &&
      ::sd_is_socket_unix(passed.control->get(), SOCK_STREAM, 1, control_path.c_str(), 0) <= 0)
    return fail(ExitCode::config,
                "the service manager has passed another socket than {}; control.socket and "
                "ListenStream= of the unit ktraced.socket must be the same path",
                control_path.string());
  return passed;
}

}  // namespace ktraced
