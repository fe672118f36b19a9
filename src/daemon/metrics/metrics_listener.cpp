// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/metrics/metrics_listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace ktraced {
namespace {

constexpr int kBacklog = 64;

// With PrivateNetwork= the address exists, but nobody else can reach it.
std::unexpected<Error> tcp_error(const char* what, const MetricsAddress& address, int error) {
  return fail(error == EADDRINUSE ? ExitCode::unavailable : ExitCode::os,
              "metrics.listen: cannot {} {}: {}{}", what, address.text(), errno_text(error),
              error == EAFNOSUPPORT || error == EADDRNOTAVAIL
                  ? "; a service without network can listen on a Unix socket only"
                  : "");
}

struct TcpAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

TcpAddress tcp_address(const MetricsAddress& address) {
  TcpAddress out;
  if (address.is_ipv6()) {
    auto* ipv6 = reinterpret_cast<sockaddr_in6*>(&out.storage);
    ipv6->sin6_family = AF_INET6;
    ipv6->sin6_port = htons(address.port);
    ::inet_pton(AF_INET6, address.host.c_str(), &ipv6->sin6_addr);
    out.size = sizeof(*ipv6);
  } else {
    auto* ipv4 = reinterpret_cast<sockaddr_in*>(&out.storage);
    ipv4->sin_family = AF_INET;
    ipv4->sin_port = htons(address.port);
    ::inet_pton(AF_INET, address.host.c_str(), &ipv4->sin_addr);
    out.size = sizeof(*ipv4);
  }
  return out;
}

Result<Fd> listen_on_port(const MetricsAddress& address) {
  const TcpAddress where = tcp_address(address);
  Fd fd(::socket(where.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return tcp_error("create a socket for", address, errno);
  // A restarted daemon gets its port back at once.
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&where.storage), where.size) < 0 ||
      ::listen(fd.get(), kBacklog) < 0)
    return tcp_error("listen on", address, errno);
  return fd;
}

}  // namespace

Result<MetricsListener> MetricsListener::listen(const MetricsAddress& address,
                                                const AccessRules& rules) {
  MetricsListener listener(address);
  listener.rules_ = rules;
  if (address.path.empty()) {
    auto tcp = listen_on_port(address);
    if (!tcp) return propagate(tcp);
    listener.tcp_ = std::move(*tcp);
    return listener;
  }
  auto socket = UnixListener::listen(address.path, rules, "metrics.listen");
  if (!socket) return propagate(socket);
  listener.unix_.emplace(std::move(*socket));
  return listener;
}

Result<> MetricsListener::set_access(const AccessRules& rules) {
  if (unix_)
    if (auto applied = unix_->apply(rules); !applied) return applied;
  rules_ = rules;
  return {};
}

Result<> MetricsListener::check_peer(int connection) const {
  if (!unix_) return {};
  const auto peer = peer_of(connection, rules_);
  if (!peer) return std::unexpected(peer.error());
  if (peer->role == Role::none) return std::unexpected(no_role_error());
  return {};
}

}  // namespace ktraced
