// SPDX-License-Identifier: BSD-2-Clause
// Work of another thread whose result comes back to the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "daemon/runtime/event_loop.h"
#include "daemon/runtime/failure_barrier.h"
#include "daemon/runtime/work_thread.h"

namespace ktraced {

// Runs work in a separate thread, one piece after the other, as WorkThread, and calls a
// continuation with each result in the loop's thread. Belongs to the loop's thread: continuations
// stay there and are destroyed there, so they may hold event sources and replies. The worker knows
// their ids only.
class BackgroundWork {
 public:
  // `loop` must outlive this. `name` as for WorkThread.
  BackgroundWork(EventLoop& loop, const char* name) : loop_(loop), thread_(name) {}
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;
  // Returns when all work is done. Continuations that were not called yet are dropped.
  ~BackgroundWork() = default;

  // `work` returns a Result and may throw; what it captures is destroyed by the worker, so it must
  // own nothing that belongs to the loop's thread. `then` is called with its Result, with the same
  // priority.
  template <class Work, class Then>
  void run(Work work, Then then, Priority priority = Priority::normal) {
    auto result = std::make_shared<std::invoke_result_t<Work&>>();
    const uint64_t id = ++last_id_;
    waiting_[id] = [result, then = std::move(then)]() mutable { then(std::move(*result)); };
    thread_.run(
        [this, id, priority, result = std::move(result), work = std::move(work)]() mutable {
          *result = as_result(work);
          loop_.post(
              [this, alive = std::weak_ptr(alive_), id] {
                if (!alive.expired()) finish(id);
              },
              priority);
        },
        priority);
  }

 private:
  void finish(uint64_t id) {
    if (auto entry = waiting_.extract(id)) entry.mapped()();
  }

  EventLoop& loop_;
  std::map<uint64_t, std::function<void()>> waiting_;  // continuations, by id
  uint64_t last_id_ = 0;
  std::shared_ptr<void> alive_ = std::make_shared<int>();
  WorkThread thread_;  // last: its tasks use the rest
};

}  // namespace ktraced
