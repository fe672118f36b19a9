// SPDX-License-Identifier: BSD-2-Clause
// A small HTTP server on the event loop.
#pragma once

#include <list>
#include <memory>

#include "daemon/metrics/http_connection.h"
#include "daemon/metrics/metrics_listener.h"

namespace ktraced {

// Serves the clients of one listener. No client can block the daemon, keep users whom the kernel
// names away from it, or use more than a bounded amount of memory. A user who has all the
// connections of one loses an idle one, or else the oldest, for a new one. When all are in use, the
// user with the most loses one for a new client, but none whose answer is being made; if there are
// only those, the new client gets 503. On a TCP port, requests for other hosts than a loopback
// address get 421. Belongs to the loop's thread.
class HttpServer {
 public:
  // `loop` must outlive the server. Fails with ExitCode::os.
  static Result<std::unique_ptr<HttpServer>> serve(EventLoop& loop, MetricsListener listener,
                                                   HttpHandler handler, HttpLimits limits = {});
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer() = default;

  [[nodiscard]] const MetricsListener& listener() const { return listener_; }
  // Who may read from now on; closes the connections of the others. Fails as
  // MetricsListener::set_access().
  Result<> set_access(const AccessRules& rules);
  [[nodiscard]] size_t connections() const { return connections_.size(); }

 private:
  HttpServer(EventLoop& loop, MetricsListener listener, HttpHandler handler, HttpLimits limits);
  Result<> start();
  void accept_pending();
  void admit(Fd connection);
  bool make_room(std::optional<uid_t> user);
  void sweep();

  EventLoop& loop_;
  MetricsListener listener_;
  HttpHandler handler_;
  HttpLimits limits_;
  EventSource accept_source_;
  EventSource sweep_timer_;  // active while there are connections, or accepting is paused
  std::list<HttpConnection> connections_;
};

}  // namespace ktraced
