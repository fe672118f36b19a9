// SPDX-License-Identifier: BSD-2-Clause
// The main thread's loop: files, signals and timers, dispatched one at a time.
//
// A thin owner of an sd-event loop (which needs libsystemd, not systemd as PID 1).
// Everything here belongs to the thread that runs the loop, except what is
// marked thread-safe. An exception that a callback or a task throws is logged, and the loop
// continues.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "base/fd.h"
#include "daemon/runtime/failure_barrier.h"
#include "daemon/runtime/priority.h"

struct sd_event;

namespace ktraced {

// A registration with the loop; the destructor unregisters. Move-only. A callback may destroy its
// own registration. Must not outlive the loop.
class EventSource {
 public:
  struct State;

  EventSource();
  explicit EventSource(std::shared_ptr<State> state);
  EventSource(EventSource&&) noexcept;
  EventSource& operator=(EventSource&&) noexcept;
  ~EventSource();

  [[nodiscard]] explicit operator bool() const { return state_ != nullptr; }
  void reset();
  // For io sources: sets the EPOLL* bits to wait for; 0: only EPOLLERR and EPOLLHUP.
  void watch(uint32_t epoll_events);
  // Pauses and continues an io source or a repeating timer.
  void set_enabled(bool enabled);

 private:
  friend class EventLoop;
  std::shared_ptr<State> state_;
};

// Wakes the loop from any thread. Notifications before the callback runs are merged into one. The
// notifying threads must end before this is destroyed.
class Notifier {
 public:
  Notifier() = default;
  void notify() const;  // thread-safe, async-signal-safe

 private:
  friend class EventLoop;
  std::shared_ptr<Fd> eventfd_;  // shared with the source, which must not outlive it
  EventSource source_;
};

// The process that has sent a signal; 0, 0 for the kernel.
struct SignalSender {
  uid_t uid = 0;
  pid_t pid = 0;
};

class EventLoop {
 public:
  // Blocks the signals in this thread and those it starts later: call it before the
  // first thread starts, so that add_signal() is the only way they arrive.
  static Result<> block_signals(std::initializer_list<int> signals);

  static Result<std::unique_ptr<EventLoop>> create();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  ~EventLoop() = default;

  // Dispatches until exit() and returns its code.
  Result<int> run();
  void exit(int code);
  // Waits at most `timeout` and dispatches pending events; false after exit(). For tests.
  Result<bool> run_once(std::chrono::milliseconds timeout);

  // Calls `callback(EPOLL* bits)` whenever `fd` is ready (level-triggered). The caller owns `fd`,
  // which must outlive the source.
  Result<EventSource> add_io(int fd, uint32_t epoll_events, std::function<void(uint32_t)> callback);
  // Calls `callback` for each delivery of a blocked signal.
  Result<EventSource> add_signal(int signal, std::function<void(const SignalSender&)> callback);
  // Once, `delay` from now.
  Result<EventSource> add_timer(std::chrono::milliseconds delay, std::function<void()> callback);
  // Calls it every `interval`, first after one interval. Overdue turns are skipped.
  Result<EventSource> add_repeating_timer(std::chrono::milliseconds interval,
                                          std::function<void()> callback);
  Result<Notifier> add_notifier(std::function<void()> callback);

  // Runs `task` in the loop's thread. Tasks of the same priority run in the order posted. One turn
  // of the loop runs tasks of normal priority for some 10 ms, or one of low priority, then serves
  // other sources: nothing waits for more than one task of low priority. Thread-safe.
  void post(std::function<void()> task, Priority priority = Priority::normal);

 private:
  struct Unref {
    void operator()(sd_event* loop) const;
  };

  explicit EventLoop(sd_event* loop);
  [[nodiscard]] std::shared_ptr<EventSource::State> make_state(
      std::function<void(uint32_t)> callback) const;
  struct Posted {
    std::deque<std::function<void()>> tasks;  // guarded by mutex_
    Notifier bell;
  };

  void run_posted();
  void run_low();
  [[nodiscard]] size_t count(const Posted& posted);
  [[nodiscard]] std::function<void()> take(Posted& posted);

  std::unique_ptr<sd_event, Unref> loop_;
  std::shared_ptr<FailureBarrier> barrier_;  // shared with the sources
  std::mutex mutex_;
  Posted posted_, low_;
};

}  // namespace ktraced
