// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/control/control_server.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

namespace ktraced {
namespace {

// Connections accepted in one turn; then other sources are served.
constexpr int kAcceptsPerTurn = 64;

// Sends one line to a client that is rejected. It may not be waiting for it.
void turn_away(Fd connection, const Error& reason) {
  std::string line = error_line(code_of(reason), reason);
  [[maybe_unused]] auto sent =
      ::send(connection.get(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

Fd open_spare() { return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

Fd accept_from(int listener) {
  return Fd(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

bool out_of_resources(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

ControlServer::ControlServer(EventLoop& loop, UnixListener listener, AccessRules rules,
                             ControlLimits limits)
    : loop_(loop),
      listener_(std::move(listener)),
      rules_(std::move(rules)),
      limits_(limits),
      admission_(limits.admission),
      spare_(open_spare()) {}

Result<std::unique_ptr<ControlServer>> ControlServer::listen(EventLoop& loop,
                                                             const std::filesystem::path& path,
                                                             AccessRules rules,
                                                             ControlLimits limits,
                                                             std::optional<Fd> passed) {
  auto listener = passed
                      ? Result<UnixListener>(UnixListener::adopt(std::move(*passed), path, rules))
                      : UnixListener::listen(path, rules);
  if (!listener) return propagate(listener);
  std::unique_ptr<ControlServer> server(
      new ControlServer(loop, std::move(*listener), std::move(rules), limits));
  if (auto started = server->start(); !started) return propagate(started);
  return server;
}

Result<> ControlServer::start() {
  auto accept = loop_.add_io(listener_.fd(), EPOLLIN, [this](uint32_t) { accept_pending(); });
  if (!accept) return propagate(accept);
  accept_source_ = std::move(*accept);
  auto interval = std::min({limits_.first_request, limits_.idle, limits_.linger}) / 4;
  auto timer = loop_.add_repeating_timer(
      std::clamp(interval, std::chrono::milliseconds(10), std::chrono::milliseconds(1000)),
      [this] { sweep(); });
  if (!timer) return propagate(timer);
  sweep_timer_ = std::move(*timer);
  sweep_timer_.set_enabled(false);
  return {};
}

Result<> ControlServer::set_access(AccessRules rules) {
  if (auto applied = listener_.apply(rules); !applied) return applied;
  rules_ = std::move(rules);
  for (ControlConnection& connection : connections_) connection.set_access(rules_);
  return {};
}

void ControlServer::accept_pending() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    Fd connection = accept_from(listener_.fd());
    int error = connection ? 0 : errno;
    if (out_of_resources(error)) error = refuse_one();
    if (connection) admit(std::move(connection));
    if (out_of_resources(error)) return pause_accepting();
    if (error == EAGAIN) return;
  }
}

// Uses the spare descriptor to reject one client when no descriptors are left. Returns the errno of
// accept().
int ControlServer::refuse_one() {
  spare_.reset();
  Fd connection = accept_from(listener_.fd());
  int error = connection ? 0 : errno;
  if (connection)
    turn_away(std::move(connection),
              {ExitCode::unavailable, "the daemon has no descriptors left; try again"});
  spare_ = open_spare();
  return error;
}

// Clients that cannot even be rejected would wake the loop forever. The next sweep resumes
// accepting.
void ControlServer::pause_accepting() {
  spdlog::warn("control socket: no descriptor or memory left for another client");
  accept_source_.set_enabled(false);
  sweep_timer_.set_enabled(true);
}

void ControlServer::admit(Fd connection) {
  auto peer = peer_of(connection.get(), rules_);
  if (!peer) return turn_away(std::move(connection), peer.error());
  auto share = admission_.admit(*peer);
  if (!share) return turn_away(std::move(connection), share.error());
  if (connections_.empty()) sweep_timer_.set_enabled(true);
  auto entry = connections_.emplace(connections_.end(), std::move(connection), *peer,
                                    std::move(*share), methods_, limits_);
  if (auto started = entry->start(loop_,
                                  [this, entry] {
                                    connections_.erase(entry);
                                    if (on_closed_) on_closed_();
                                  });
      !started) {
    spdlog::warn("control socket: {}", started.error().message);
    connections_.erase(entry);
  }
}

void ControlServer::sweep() {
  accept_source_.set_enabled(true);
  auto now = ControlConnection::Clock::now();
  for (auto next = connections_.begin(); next != connections_.end();)
    (next++)->check_deadline(now);  // may remove this connection, but no other
  if (connections_.empty()) sweep_timer_.set_enabled(false);
}

}  // namespace ktraced
