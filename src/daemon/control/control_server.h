// SPDX-License-Identifier: BSD-2-Clause
// The control socket: newline-delimited JSON-RPC 2.0 for any number of clients.
//
// No client can block the daemon or use more than a bounded amount of its memory. Input and pending
// output are limited for each connection, and silent connections are closed. A client beyond the
// limits of Admission is sent the reason in one line.
#pragma once

#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/fd.h"
#include "daemon/control/admission.h"
#include "daemon/control/control_connection.h"
#include "daemon/control/rpc.h"
#include "daemon/runtime/event_loop.h"
#include "daemon/runtime/peer.h"
#include "daemon/runtime/unix_listener.h"

namespace ktraced {

// Runs in the loop's thread. The destructor removes the socket.
class ControlServer {
 public:
  // Listens at `path`. A stale socket is replaced; a socket with a running daemon is
  // ExitCode::unavailable. Creates the directory if necessary. `loop` must outlive the server. With
  // `passed`, that is the socket at `path`.
  static Result<std::unique_ptr<ControlServer>> listen(EventLoop& loop,
                                                       const std::filesystem::path& path,
                                                       AccessRules rules, ControlLimits limits = {},
                                                       std::optional<Fd> passed = std::nullopt);
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;
  ~ControlServer() = default;

  // Later requests of a connection wait for the answer of `handler`; those of other connections do
  // not. With Reply::hand_over() the server no longer manages the connection, which is
  // non-blocking, once the answer has been sent.
  void add(MethodName name, Role role, Handler handler) {
    methods_.add(std::move(name), role, std::move(handler));
  }

  // See Methods::edit_lines().
  void edit_lines(Methods::Edit edit) { methods_.edit_lines(std::move(edit)); }

  // Called whenever a connection has ended or was handed over.
  void on_closed(std::function<void()> callback) { on_closed_ = std::move(callback); }

  [[nodiscard]] const AccessRules& access() const { return rules_; }
  // Who may connect and request from now on. Connections that have lost their role stay, and each
  // request of theirs is refused. Fails as UnixListener::apply().
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
  Fd spare_;  // closed to accept and reject a client when no descriptor is left
  EventSource accept_source_;
  EventSource sweep_timer_;  // active while there are connections to check
  std::list<ControlConnection> connections_;
};

}  // namespace ktraced
