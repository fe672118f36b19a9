// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/metrics/metrics_listener.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

#include <array>
#include <cerrno>
#include <cstring>
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

using ReadName = int (*)(int, sockaddr*, socklen_t*);

// One end of a connection, as sock_diag(7) takes it.
bool read_end(int socket, ReadName read, int& family, __be16& port, __be32* address) {
  sockaddr_storage name{};
  socklen_t size = sizeof(name);
  if (read(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0) return false;
  family = name.ss_family;
  if (family == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(name);
    port = ipv4.sin_port;
    std::memcpy(address, &ipv4.sin_addr, sizeof(ipv4.sin_addr));
  } else {
    const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(name);
    port = ipv6.sin6_port;
    std::memcpy(address, &ipv6.sin6_addr, sizeof(ipv6.sin6_addr));
  }
  return true;
}

// The user of the TCP socket of this machine with these two ends, from sock_diag(7). Nothing: there
// is none, or the kernel has no inet_diag.
std::optional<uid_t> owner_of_socket(int family, const inet_diag_sockid& id) {
  struct {
    nlmsghdr header;
    inet_diag_req_v2 request;
  } question{};
  question.header = {.nlmsg_len = sizeof(question),
                     .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                     .nlmsg_flags = NLM_F_REQUEST,
                     .nlmsg_seq = 0,
                     .nlmsg_pid = 0};
  question.request.sdiag_family = static_cast<uint8_t>(family);
  question.request.sdiag_protocol = IPPROTO_TCP;
  question.request.idiag_states = ~0U;
  question.request.id = id;
  question.request.id.idiag_cookie[0] = question.request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  const Fd fd(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!fd || ::send(fd.get(), &question, sizeof(question), 0) < 0) return std::nullopt;
  struct {
    nlmsghdr header;
    inet_diag_msg message;
    std::array<char, 4096> attributes;
  } answer{};
  // The kernel has answered when send() returns.
  const ssize_t got = ::recv(fd.get(), &answer, sizeof(answer), MSG_DONTWAIT);
  if (got < static_cast<ssize_t>(sizeof(answer.header) + sizeof(answer.message)) ||
      answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
    return std::nullopt;
  if (answer.message.idiag_inode == 0) return std::nullopt;  // closed: the uid is not its user's
  return answer.message.idiag_uid;
}

std::optional<uid_t> user_of_client(int connection) {
  int family = AF_UNSPEC;
  inet_diag_sockid client{};
  if (!read_end(connection, ::getpeername, family, client.idiag_sport, client.idiag_src) ||
      !read_end(connection, ::getsockname, family, client.idiag_dport, client.idiag_dst))
    return std::nullopt;
  return owner_of_socket(family, client);
}

// Where a listening TCP socket is.
MetricsAddress listening_address(int listener) {
  int family = AF_UNSPEC;
  inet_diag_sockid id{};
  std::array<char, INET6_ADDRSTRLEN> host{};
  if (read_end(listener, ::getsockname, family, id.idiag_sport, id.idiag_src))
    ::inet_ntop(family, id.idiag_src, host.data(), host.size());
  return {.path = {}, .host = host.data(), .port = ntohs(id.idiag_sport)};
}

// Asked once: with each question the kernel would look for a module that it does not have.
bool kernel_knows_users(int listener) {
  int family = AF_UNSPEC;
  inet_diag_sockid id{};
  return read_end(listener, ::getsockname, family, id.idiag_sport, id.idiag_src) &&
         owner_of_socket(family, id).has_value();
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
    listener.knows_users_ = kernel_knows_users(listener.fd());
    return listener;
  }
  auto socket = UnixListener::listen(address.path, rules, "metrics.listen");
  if (!socket) return propagate(socket);
  listener.unix_.emplace(std::move(*socket));
  return listener;
}

Result<MetricsListener> MetricsListener::adopt(Fd socket) {
  if (::sd_is_socket_inet(socket.get(), AF_UNSPEC, SOCK_STREAM, /*listening=*/1, 0) <= 0)
    return fail(ExitCode::config,
                "the service manager has passed a socket for metrics that does not listen on a TCP "
                "port; let the unit ktraced-metrics.socket have a ListenStream= like "
                "127.0.0.1:9464");
  MetricsListener listener(listening_address(socket.get()));
  const std::string problem = kMetricsListenText.problem_of(listener.address_.text());
  if (!problem.empty())
    return fail(ExitCode::config, "ListenStream= of the unit ktraced-metrics.socket: {}", problem);
  listener.tcp_ = std::move(socket);
  listener.knows_users_ = kernel_knows_users(listener.fd());
  return listener;
}

Result<> MetricsListener::set_access(const AccessRules& rules) {
  if (unix_)
    if (auto applied = unix_->apply(rules); !applied) return applied;
  rules_ = rules;
  return {};
}

Result<std::optional<uid_t>> MetricsListener::check_peer(int connection) const {
  if (!unix_) return knows_users_ ? user_of_client(connection) : std::nullopt;
  const auto peer = peer_of(connection, rules_);
  if (!peer) return std::unexpected(peer.error());
  if (peer->role == Role::none) return std::unexpected(no_role_error());
  return peer->uid;
}

}  // namespace ktraced
