// SPDX-License-Identifier: BSD-2-Clause
// Long work of the main thread, done in slices. The loop serves clients between them.
#pragma once

#include <functional>
#include <memory>

#include "daemon/runtime/event_loop.h"

namespace ktraced {

class SlicedWork {
 public:
  enum class Step {
    more,   // some work was done, and there is more
    later,  // no work is possible now: try again in a few milliseconds
    done,
  };
  using DoStep = std::function<Step()>;

  SlicedWork() = default;
  SlicedWork(const SlicedWork&) = delete;
  SlicedWork& operator=(const SlicedWork&) = delete;
  ~SlicedWork() { stop(); }

  // From now on work runs in this loop, which must outlive this, with this priority. Without a loop
  // start() returns when all is done, or when a blocked SIGTERM or SIGINT is pending.
  void work_in(EventLoop& loop, Priority priority = Priority::normal) {
    loop_ = &loop;
    priority_ = priority;
  }

  // Runs the first slice at once and the others in turns of the loop. Replaces the current work.
  // `done` is called when a step reports the end, perhaps before this returns. Either function may
  // start other work.
  void start(DoStep step, std::function<void()> done);
  // Cancels the rest of the work; `done` is not called.
  void stop() { job_.reset(); }
  [[nodiscard]] bool running() const { return job_ != nullptr; }

 private:
  struct Job {
    DoStep step;
    std::function<void()> done;
    EventSource timer;
  };

  void slice(const std::shared_ptr<Job>& job);
  void resume_later(const std::shared_ptr<Job>& job);

  void post_slice(const std::shared_ptr<Job>& job);

  EventLoop* loop_ = nullptr;
  Priority priority_ = Priority::normal;
  std::shared_ptr<Job> job_;
};

}  // namespace ktraced
