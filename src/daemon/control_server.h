// SPDX-License-Identifier: BSD-2-Clause
// The control socket: newline-delimited JSON-RPC 2.0 for any number of clients.
//
// No client can make the daemon wait, or hold more than a bounded amount of its
// memory: input and pending output are limited for each connection, silent
// connections are closed, and a client beyond the limits of Admission gets a line that says why.
#pragma once

#include <filesystem>
#include <functional>
#include <list>
#include <memory>

#include "base/error.h"
#include "base/fd.h"
#include "daemon/admission.h"
#include "daemon/control_connection.h"
#include "daemon/event_loop.h"
#include "daemon/peer.h"
#include "daemon/rpc.h"
#include "daemon/unix_listener.h"

namespace ktraced {

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
  ~ControlServer() = default;

  void add(MethodName name, Role role, Handler handler);
  void add_session(MethodName name, Role role, SessionHandler handler);
  // `handler` gives its answer when it has it. Later requests of that connection wait until then,
  // those of others do not.
  void add_deferred(MethodName name, Role role, DeferredHandler handler);
  // After the answer of a successful `handler` has been sent, `takeover` gets the
  // connection (non-blocking), and the server forgets it.
  void add_upgrade(MethodName name, Role role, Handler handler, Upgrade upgrade);

  // Called whenever a connection has ended, or has been taken over.
  void on_closed(std::function<void()> callback) { on_closed_ = std::move(callback); }

  // Takes effect for connections made from now on, and for the socket file.
  Result<> set_access(AccessRules rules);

  [[nodiscard]] size_t connections() const { return connections_.size(); }

 private:
  ControlServer(EventLoop& loop, UnixListener listener, AccessRules rules, ControlLimits limits);
  Result<> start();
  void accept_pending();
  void admit(Fd connection);
  int refuse_one();
  void pause_accepting();
  void sweep();

  EventLoop& loop_;
  UnixListener listener_;
  AccessRules rules_;
  ControlLimits limits_;
  Admission admission_;
  std::function<void()> on_closed_;
  Methods methods_;
  Fd spare_;  // given up to accept, and refuse, when no descriptor is left
  EventSource accept_source_;
  EventSource sweep_timer_;  // while there is something to wait for
  std::list<ControlConnection> connections_;
};

}  // namespace ktraced
