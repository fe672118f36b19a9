// SPDX-License-Identifier: BSD-2-Clause
// A listening socket for metrics.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "daemon/config/metrics_address.h"
#include "daemon/runtime/peer.h"
#include "daemon/runtime/unix_listener.h"

namespace ktraced {

// A Unix socket, which those may read who may read from the control socket, or a TCP port of a
// loopback address, which every user of the machine may read. Move-only.
class MetricsListener {
 public:
  // Listens, non-blocking. Fails as UnixListener::listen(), or with ExitCode::unavailable if the
  // port is in use.
  static Result<MetricsListener> listen(const MetricsAddress& address, const AccessRules& rules);

  // Takes a listening, non-blocking socket that the service manager has made: a TCP port of a
  // loopback address, whatever network this process is in. Anything else is ExitCode::config.
  static Result<MetricsListener> adopt(Fd socket);

  [[nodiscard]] int fd() const { return unix_ ? unix_->fd() : tcp_.get(); }
  [[nodiscard]] bool is_unix() const { return unix_.has_value(); }
  [[nodiscard]] const MetricsAddress& address() const { return address_; }
  // Who may read from now on.
  Result<> set_access(const AccessRules& rules);
  // The user at the other end of this connection; nothing if the kernel does not say. Fails with
  // ExitCode::no_permission if he may not read.
  [[nodiscard]] Result<std::optional<uid_t>> check_peer(int connection) const;

 private:
  explicit MetricsListener(MetricsAddress address) : address_(std::move(address)) {}

  MetricsAddress address_;
  AccessRules rules_;
  std::optional<UnixListener> unix_;
  Fd tcp_;
  bool knows_users_ = false;  // of tcp_: the kernel has sock_diag(7)
};

}  // namespace ktraced
