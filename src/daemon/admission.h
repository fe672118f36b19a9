// SPDX-License-Identifier: BSD-2-Clause
// Who may have how much of the control socket: connections and unread answers, by user.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <memory>

#include "base/error.h"
#include "daemon/peer.h"

namespace ktraced {

struct AdmissionLimits {
  size_t connections = 512;
  size_t connections_per_user = 64;    // of one uid
  size_t connections_kept = 16;        // of all, for administrators
  size_t unread_per_user = 16U << 20;  // bytes of answers that one uid leaves unread
};

// Counts connections. Users without a role get none. Root and the daemon's own user are held to
// the number of all connections alone. Belongs to the loop's thread.
class Admission {
 public:
  // What one connection takes of its user's limits; given back when it is destroyed. Move-only.
  class Share {
   public:
    Share(Admission& admission, const Peer& peer);
    Share(Share&& other) noexcept;
    Share& operator=(Share&&) = delete;
    ~Share();

    // Bytes that wait to be read by this client.
    void set_unread(size_t bytes);
    // Does this user leave too much unread, over all its connections?
    [[nodiscard]] bool unread_exhausted() const;

   private:
    Admission* admission_;  // none: moved from
    Peer peer_;
    size_t unread_ = 0;
  };

  // Must outlive the shares.
  explicit Admission(const AdmissionLimits& limits) : limits_(limits) {}

  // Fails with ExitCode::no_permission or ::unavailable.
  [[nodiscard]] Result<Share> admit(const Peer& peer);

 private:
  struct User {
    size_t connections = 0;
    size_t unread = 0;
  };

  AdmissionLimits limits_;
  size_t connections_ = 0;
  std::map<uid_t, User> users_;  // with a connection
};

}  // namespace ktraced
