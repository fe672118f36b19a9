// The control socket: newline-delimited JSON-RPC 2.0 for any number of clients.
//
// No client can make the daemon wait, or hold more than a bounded amount of its
// memory: input and pending output are limited for each connection, silent
// connections are closed, and beyond a number of connections new ones are told so.
#pragma once

#include <chrono>
#include <filesystem>
#include <list>
#include <memory>

#include "base/error.h"
#include "base/fd.h"
#include "daemon/event_loop.h"
#include "daemon/peer.h"
#include "daemon/rpc.h"

namespace ktraced {

struct ControlLimits {
  size_t connections = 512;
  size_t line_bytes = 1U << 20;      // longest request
  size_t pending_output = 1U << 18;  // a connection with more unread answers is not read from
  std::chrono::milliseconds first_request{30'000};  // from connecting to a whole request
  std::chrono::milliseconds idle{600'000};          // between requests
  std::chrono::milliseconds linger{2'000};          // to read the reason of being closed
};

// Runs in the loop's thread. The socket is removed when the server is destroyed.
class ControlServer {
 public:
  // Listens at `path`. A socket left there by a daemon that is gone is replaced;
  // one that answers is ExitCode::unavailable. The directory is created if need be.
  // `loop` must outlive the server.
  static Result<std::unique_ptr<ControlServer>> listen(EventLoop& loop,
                                                       const std::filesystem::path& path,
                                                       AccessRules rules,
                                                       ControlLimits limits = {});
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;
  ~ControlServer();

  void add(std::string name, Role role, Handler handler);
  // After the answer of a successful `handler` has been sent, `takeover` gets the
  // connection (non-blocking), and the server forgets it.
  void add_upgrade(std::string name, Role role, Handler handler, Takeover takeover);

  // Takes effect for connections made from now on, and for the socket file.
  Result<> set_access(AccessRules rules);

  [[nodiscard]] size_t connections() const;

 private:
  class Connection;

  ControlServer(EventLoop& loop, std::filesystem::path path, AccessRules rules,
                ControlLimits limits);
  Result<> start();
  void accept_pending();
  void admit(Fd connection);
  void accept_without_descriptors();
  void sweep();
  void forget(Connection& connection);

  EventLoop& loop_;
  std::filesystem::path path_;
  AccessRules rules_;
  ControlLimits limits_;
  Methods methods_;
  Fd listener_;
  Fd spare_;  // given up to accept, and refuse, when no descriptor is left
  EventSource accept_source_;
  EventSource sweep_timer_;
  std::list<Connection> connections_;
};

}  // namespace ktraced
