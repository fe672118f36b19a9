// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/metrics/http_server.h"

#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>

namespace ktraced {
namespace {

constexpr int kScrapersPerTurn = 16;
constexpr std::chrono::milliseconds kSweepMin{10}, kSweepMax{1000};

// The client may not be reading.
void turn_away(const Fd& connection, int status, std::string_view reason) {
  const std::string text = http_response({.status = status, .body = reason}, false, true);
  [[maybe_unused]] const auto sent =
      ::send(connection.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

// A page of another server must not read a port through the browser of a user of this machine. It
// could: its name may come to resolve to a loopback address (DNS rebinding). Then the request names
// that server.
HttpHandler for_loopback_hosts(HttpHandler handler) {
  return [handler = std::move(handler)](const HttpRequest& request, const HttpReply& reply) {
    if (request.loopback) return handler(request, reply);
    reply(
        {.status = 421,
         .body = "the field Host must be localhost or a loopback address, like 127.0.0.1:9464\n"});
  };
}

}  // namespace

HttpServer::HttpServer(EventLoop& loop, MetricsListener listener, HttpHandler handler,
                       HttpLimits limits)
    : loop_(loop), listener_(std::move(listener)), handler_(std::move(handler)), limits_(limits) {}

Result<std::unique_ptr<HttpServer>> HttpServer::serve(EventLoop& loop, MetricsListener listener,
                                                      HttpHandler handler, HttpLimits limits) {
  if (!listener.is_unix()) handler = for_loopback_hosts(std::move(handler));
  std::unique_ptr<HttpServer> server(
      new HttpServer(loop, std::move(listener), std::move(handler), limits));
  if (auto started = server->start(); !started) return propagate(started);
  return server;
}

Result<> HttpServer::start() {
  auto accept = loop_.add_io(listener_.fd(), EPOLLIN, [this](uint32_t) { accept_pending(); });
  if (!accept) return propagate(accept);
  accept_source_ = std::move(*accept);
  const auto interval = std::min({limits_.request, limits_.answer, limits_.idle, limits_.linger});
  auto timer = loop_.add_repeating_timer(std::clamp(interval / 4, kSweepMin, kSweepMax),
                                         [this] { sweep(); });
  if (!timer) return propagate(timer);
  sweep_timer_ = std::move(*timer);
  sweep_timer_.set_enabled(false);
  return {};
}

void HttpServer::accept_pending() {
  for (int i = 0; i < kScrapersPerTurn; ++i) {
    Fd connection(::accept4(listener_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (connection) {
      admit(std::move(connection));
      continue;
    }
    if (errno == ECONNABORTED || errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    // A client that cannot be accepted would wake the loop forever. The next sweep tries again.
    accept_source_.set_enabled(false);
    sweep_timer_.set_enabled(true);
    return;
  }
}

void HttpServer::admit(Fd connection) {
  const auto user = listener_.check_peer(connection.get());
  if (!user) return turn_away(connection, 403, user.error().message + "\n");
  if (!make_room(*user))
    return turn_away(connection, 503, "all connections are in use; try again\n");
  if (connections_.empty()) sweep_timer_.set_enabled(true);
  const auto entry =
      connections_.emplace(connections_.end(), std::move(connection), *user, handler_, limits_);
  if (auto started = entry->start(loop_, [this, entry] { connections_.erase(entry); }); !started) {
    spdlog::warn("metrics: {}", started.error().message);
    connections_.erase(entry);
  }
}

// Connections whose user the kernel does not say count as those of one user.
bool HttpServer::make_room(std::optional<uid_t> user) {
  const auto count = [this](std::optional<uid_t> of) {
    return std::ranges::count(connections_, of, &HttpConnection::user);
  };
  const bool all_of_his = count(user) >= static_cast<ptrdiff_t>(limits_.of_a_user);
  if (!all_of_his && connections_.size() < limits_.connections) return true;
  // The number comes first: a new connection is idle until what its client has sent is read.
  const auto rank = [&](const HttpConnection& c) {
    return std::tuple(-count(c.user()), !c.idle(), c.since());
  };
  HttpConnection* first = nullptr;
  for (HttpConnection& connection : connections_)
    if ((all_of_his ? connection.user() == user : !connection.awaits_answer()) &&
        (first == nullptr || rank(connection) < rank(*first)))
      first = &connection;
  if (first != nullptr) first->close();
  return first != nullptr;
}

Result<> HttpServer::set_access(const AccessRules& rules) {
  if (auto applied = listener_.set_access(rules); !applied) return applied;
  for (auto next = connections_.begin(); next != connections_.end();) {
    HttpConnection& connection = *next++;
    if (!listener_.check_peer(connection.fd())) connection.close();
  }
  return {};
}

void HttpServer::sweep() {
  accept_source_.set_enabled(true);
  const auto now = HttpConnection::Clock::now();
  for (auto next = connections_.begin(); next != connections_.end();)
    (next++)->check_deadline(now);  // may remove this connection, but no other
  if (connections_.empty()) sweep_timer_.set_enabled(false);
}

}  // namespace ktraced
