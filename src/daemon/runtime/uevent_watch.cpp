// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/runtime/uevent_watch.h"

#include <linux/netlink.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace ktraced {
namespace {

constexpr unsigned kKernelGroup = 1;  // uevents as the kernel sends them, before udev

// Reads the waiting messages. If the socket's buffer has overflowed, the lost messages may have
// been about any module.
KernelChanges read_changes(int socket) {
  KernelChanges changes;
  std::array<char, 8192> message{};
  for (;;) {
    const ssize_t length = ::recv(socket, message.data(), message.size(), MSG_DONTWAIT);
    if (length > 0) note_uevent({message.data(), static_cast<size_t>(length)}, changes);
    if (length >= 0 || errno == EINTR) continue;
    if (errno != ENOBUFS) return changes;
    changes.cpus = changes.modules_came = changes.unknown_modules_gone = true;
  }
}

}  // namespace

void note_uevent(std::string_view message, KernelChanges& changes) {
  constexpr std::string_view kCpu = "/devices/system/cpu/", kModule = "/module/";
  const std::string_view head = message.substr(0, message.find('\0'));
  const size_t at = head.find('@');
  if (at == std::string_view::npos) return;
  const std::string_view action = head.substr(0, at), path = head.substr(at + 1);
  if (path.starts_with(kCpu) && (action == "online" || action == "offline")) changes.cpus = true;
  if (!path.starts_with(kModule)) return;
  if (action == "add") changes.modules_came = true;
  if (action == "remove") changes.modules_gone.emplace(path.substr(kModule.size()));
}

Result<UeventWatch> UeventWatch::start(EventLoop& loop,
                                       std::function<void(const KernelChanges&)> on_change) {
  UeventWatch watch;
  watch.socket_ = Fd(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = kKernelGroup;
  if (!watch.socket_ ||
      ::bind(watch.socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
    return fail(ExitCode::os, "cannot listen for CPUs and modules that come and go: {}",
                errno_text(errno));
  auto source =
      loop.add_io(watch.socket_.get(), EPOLLIN,
                  [socket = watch.socket_.get(), on_change = std::move(on_change)](uint32_t) {
                    const KernelChanges changes = read_changes(socket);
                    if (changes != KernelChanges{}) on_change(changes);
                  });
  if (!source) return propagate(source);
  watch.source_ = std::move(*source);
  return watch;
}

}  // namespace ktraced
