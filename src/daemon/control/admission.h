// SPDX-License-Identifier: BSD-2-Clause
// Limits on the control socket per user: connections, unread answers, turns.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "base/error.h"
#include "daemon/runtime/event_loop.h"
#include "daemon/runtime/peer.h"

namespace ktraced {

struct AdmissionLimits {
  size_t connections = 512;
  size_t connections_per_user = 64;    // of one uid
  size_t connections_kept = 16;        // of all, for administrators
  size_t unread_per_user = 16U << 20;  // bytes of unread answers of one uid
};

// Counts connections and rejects users without a role. For root and the daemon's own user only the
// total number of connections is limited. Belongs to the loop's thread.
class Admission {
 public:
  // The share of one connection in its user's limits, released by the destructor. Move-only.
  class Share {
   public:
    Share(Admission& admission, const Peer& peer);
    Share(Share&& other) noexcept;
    Share& operator=(Share&&) = delete;
    ~Share();

    // Bytes that wait until this client reads them.
    void set_unread(size_t bytes);
    // True if this user has too many unread bytes, over all connections.
    [[nodiscard]] bool unread_exhausted() const;
    // Runs `task` in the loop with low priority, when it is this user's turn.
    void wait_for_turn(EventLoop& loop, std::function<void()> task);

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
  // Users take turns, however many connections each of them has.
  struct Turns {
    std::map<uid_t, std::deque<std::function<void()>>> tasks;  // of users that wait
    std::deque<uid_t> order;

    void run_next();
  };
  struct User {
    size_t connections = 0;
    size_t unread = 0;
  };

  AdmissionLimits limits_;
  size_t connections_ = 0;
  std::map<uid_t, User> users_;  // with a connection
  std::shared_ptr<Turns> turns_ = std::make_shared<Turns>();
};

}  // namespace ktraced
