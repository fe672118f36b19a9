// SPDX-License-Identifier: BSD-2-Clause
// Long work of the main thread, done in slices between which its loop serves others.
#pragma once

#include <functional>
#include <memory>

#include "daemon/event_loop.h"

namespace ktraced {

class SlicedWork {
 public:
  enum class Step {
    more,   // something was done, and there is more
    later,  // nothing can be done now: try again in a few milliseconds
    done,
  };
  using DoStep = std::function<Step()>;

  SlicedWork() = default;
  SlicedWork(const SlicedWork&) = delete;
  SlicedWork& operator=(const SlicedWork&) = delete;
  ~SlicedWork() { stop(); }

  // From now on work goes on in this loop, which must outlive this. Without a loop start() returns
  // when all is done, or when a blocked SIGTERM or SIGINT waits for the loop.
  void work_in(EventLoop& loop) { loop_ = &loop; }

  // Does the first slice at once and the others in the loop's turns, in place of what is being
  // done. `done` is called when a step has said so, perhaps before this returns. Either function
  // may start other work.
  void start(DoStep step, std::function<void()> done);
  // What is left is not done, and its `done` is not called.
  void stop() { job_.reset(); }
  [[nodiscard]] bool running() const { return job_ != nullptr; }

 private:
  struct Job {
    DoStep step;
    std::function<void()> done;
    EventSource timer;
  };

  void slice(const std::shared_ptr<Job>& job);
  void go_on_later(const std::shared_ptr<Job>& job);

  EventLoop* loop_ = nullptr;
  std::shared_ptr<Job> job_;
};

}  // namespace ktraced
