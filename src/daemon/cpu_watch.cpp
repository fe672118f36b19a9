#include "daemon/cpu_watch.h"

#include <linux/netlink.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace ktraced {
namespace {

constexpr unsigned kKernelGroup = 1;  // uevents as the kernel sends them, before udev

// True if a CPU's coming or going is among the messages waiting. A message begins with
// "ACTION@DEVPATH"; one too many for the socket's buffer is taken for one of ours.
bool cpu_changed(int socket) {
  bool changed = false;
  std::array<char, 8192> message{};
  for (;;) {
    const ssize_t length = ::recv(socket, message.data(), message.size(), MSG_DONTWAIT);
    if (length < 0 && errno == ENOBUFS) changed = true;
    if (length < 0 && errno != ENOBUFS && errno != EINTR) return changed;
    if (length <= 0) continue;
    const std::string_view text(message.data(), static_cast<size_t>(length));
    if (text.starts_with("online@/devices/system/cpu/") ||
        text.starts_with("offline@/devices/system/cpu/"))
      changed = true;
  }
}

}  // namespace

Result<CpuWatch> CpuWatch::start(EventLoop& loop, std::function<void()> on_change) {
  CpuWatch watch;
  watch.socket_ = Fd(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = kKernelGroup;
  if (!watch.socket_ ||
      ::bind(watch.socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
    return fail(ExitCode::os, "cannot listen for CPUs coming online: {}", errno_text(errno));
  auto source =
      loop.add_io(watch.socket_.get(), EPOLLIN,
                  [socket = watch.socket_.get(), on_change = std::move(on_change)](uint32_t) {
                    if (cpu_changed(socket)) on_change();
                  });
  if (!source) return pass_on(source);
  watch.source_ = std::move(*source);
  return watch;
}

}  // namespace ktraced
