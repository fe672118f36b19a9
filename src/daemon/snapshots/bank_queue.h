// SPDX-License-Identifier: BSD-2-Clause
// Requests for snapshots that wait until a bank is spare.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string>

#include "base/error.h"
#include "daemon/runtime/event_loop.h"

namespace ktraced {

// First come, first served. Belongs to the loop's thread.
class BankQueue {
 public:
  // Requests that can wait at a time.
  static constexpr size_t kMax = 64;

  // A request; either `take` or `fail` is called, once. Neither is called if its client has
  // disconnected before: then the request is dropped.
  struct Waiter {
    std::string name;                 // of the snapshot; empty: it is made later
    std::function<bool()> connected;  // is the client still there?
    std::function<void()> take;
    std::function<void(const Error& error)> fail;
  };

  // `why_not` is why no snapshot can be taken now. `loop` must outlive this.
  BankQueue(EventLoop& loop, std::function<Error()> why_not)
      : loop_(loop), why_not_(std::move(why_not)) {}

  // Adds a request at the end; it fails after `timeout` with ExitCode::unavailable. Fails at once,
  // with the same code, if kMax requests wait already.
  Result<> add(Waiter waiter, std::chrono::milliseconds timeout);
  // Calls `take` of one request after the other while `is_possible`.
  void serve(const std::function<bool()>& is_possible);
  // Fails all requests.
  void fail_all(const Error& error);

  // The number of requests whose clients are still there.
  [[nodiscard]] size_t size() const;
  // Waits a request for a snapshot of this name?
  [[nodiscard]] bool contains(const std::string& name) const;

 private:
  struct Entry {
    uint64_t id = 0;
    Waiter waiter;
    EventSource timer;
  };

  void expire(uint64_t id, std::chrono::milliseconds timeout);
  void drop_disconnected();

  EventLoop& loop_;
  std::function<Error()> why_not_;
  std::list<Entry> entries_;  // in order
  uint64_t last_id_ = 0;
};

}  // namespace ktraced
