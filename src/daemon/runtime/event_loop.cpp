// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/runtime/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <systemd/sd-event.h>

#include <cerrno>
#include <csignal>
#include <utility>

namespace ktraced {
namespace {

// Timers may be this late. sd-event's default of 250 ms is too coarse.
constexpr uint64_t kTimerAccuracyUs = 1000;
// Posted tasks may run this long in one turn of the loop.
constexpr std::chrono::milliseconds kPostedPerTurn{10};

uint64_t microseconds(std::chrono::milliseconds time) {
  return static_cast<uint64_t>(std::chrono::microseconds(time).count());
}

std::unexpected<Error> loop_error(const char* what, int result) {
  return fail(ExitCode::os, "event loop: cannot {}: {}", what, errno_text(-result));
}

}  // namespace

// What a registration owns. The dispatcher holds a reference while the callback
// runs, so a callback may destroy its own registration.
struct EventSource::State : std::enable_shared_from_this<State> {
  State(std::function<void(uint32_t)> function, std::shared_ptr<FailureBarrier> all)
      : callback(std::move(function)), barrier(std::move(all)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { sd_event_source_disable_unref(source); }

  // An exception cannot pass through the C frames of sd-event.
  void dispatch(uint32_t events) noexcept {
    auto keep_alive = shared_from_this();
    if (interval_us != 0) arm();
    barrier->run([&] { callback(events); });
  }
  void arm() const {
    sd_event_source_set_time_relative(source, interval_us);
    sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
  }

  sd_event_source* source = nullptr;
  std::function<void(uint32_t)> callback;
  std::shared_ptr<FailureBarrier> barrier;
  uint64_t interval_us = 0;  // of repeating timers
  SignalSender sender;       // of the last signal
};

namespace {

int on_io(sd_event_source*, int, uint32_t events, void* state) {
  static_cast<EventSource::State*>(state)->dispatch(events);
  return 0;
}
int on_signal(sd_event_source*, const signalfd_siginfo* signal, void* data) {
  auto* state = static_cast<EventSource::State*>(data);
  state->sender = {.uid = signal->ssi_uid, .pid = static_cast<pid_t>(signal->ssi_pid)};
  state->dispatch(0);
  return 0;
}
int on_time(sd_event_source*, uint64_t, void* state) {
  static_cast<EventSource::State*>(state)->dispatch(0);
  return 0;
}

std::function<void(uint32_t)> without_events(std::function<void()> callback) {
  return [call = std::move(callback)](uint32_t) { call(); };
}

}  // namespace

EventSource::EventSource() = default;
EventSource::EventSource(std::shared_ptr<State> state) : state_(std::move(state)) {}
EventSource::EventSource(EventSource&&) noexcept = default;
EventSource& EventSource::operator=(EventSource&& other) noexcept {
  if (this != &other) {
    reset();
    state_ = std::move(other.state_);
  }
  return *this;
}
EventSource::~EventSource() { reset(); }

void EventSource::reset() {
  // ~State may run later: a running callback still holds the state, but must not be called again.
  if (state_) sd_event_source_set_enabled(state_->source, SD_EVENT_OFF);
  if (state_) state_->interval_us = 0;
  state_.reset();
}

void EventSource::watch(uint32_t epoll_events) {
  if (state_) sd_event_source_set_io_events(state_->source, epoll_events);
}

void EventSource::set_enabled(bool enabled) {
  if (!state_) return;
  if (enabled && state_->interval_us != 0)
    state_->arm();
  else
    sd_event_source_set_enabled(state_->source, enabled ? SD_EVENT_ON : SD_EVENT_OFF);
}

void Notifier::notify() const {
  uint64_t one = 1;
  // Fails only when the counter is full; then a notification is already pending.
  [[maybe_unused]] auto written = ::write(eventfd_->get(), &one, sizeof(one));
}

Result<> EventLoop::block_signals(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : signals) sigaddset(&set, signal);
  if (int error = ::pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0)
    return fail(ExitCode::os, "cannot block signals: {}", errno_text(error));
  return {};
}

EventLoop::EventLoop(sd_event* loop)
    : loop_(loop), barrier_(std::make_shared<FailureBarrier>("the event loop")) {}

std::shared_ptr<EventSource::State> EventLoop::make_state(
    std::function<void(uint32_t)> callback) const {
  return std::make_shared<EventSource::State>(std::move(callback), barrier_);
}

Result<std::unique_ptr<EventLoop>> EventLoop::create() {
  sd_event* event = nullptr;
  if (int result = sd_event_new(&event); result < 0) return loop_error("start", result);
  std::unique_ptr<EventLoop> loop(new EventLoop(event));
  auto bell = loop->add_notifier([raw = loop.get()] { raw->run_posted(); });
  if (!bell) return propagate(bell);
  loop->posted_.bell = std::move(*bell);
  auto low = loop->add_notifier([raw = loop.get()] { raw->run_low(); });
  if (!low) return propagate(low);
  loop->low_.bell = std::move(*low);
  return loop;
}

void EventLoop::Unref::operator()(sd_event* loop) const { sd_event_unref(loop); }

Result<int> EventLoop::run() {
  int result = sd_event_loop(loop_.get());
  int code = 0;
  if (sd_event_get_exit_code(loop_.get(), &code) >= 0) return code;
  return loop_error("continue", result);
}

void EventLoop::exit(int code) { sd_event_exit(loop_.get(), code); }

Result<bool> EventLoop::run_once(std::chrono::milliseconds timeout) {
  int result = sd_event_run(loop_.get(), microseconds(timeout));
  if (result < 0 && result != -ESTALE) return loop_error("continue", result);
  return sd_event_get_state(loop_.get()) != SD_EVENT_FINISHED;
}

Result<EventSource> EventLoop::add_io(int fd, uint32_t epoll_events,
                                      std::function<void(uint32_t)> callback) {
  auto state = make_state(std::move(callback));
  if (int result =
          sd_event_add_io(loop_.get(), &state->source, fd, epoll_events, on_io, state.get());
      result < 0)
    return loop_error("watch a descriptor", result);
  return EventSource(std::move(state));
}

Result<EventSource> EventLoop::add_signal(int signal,
                                          std::function<void(const SignalSender&)> callback) {
  auto state = make_state(nullptr);
  state->callback = [call = std::move(callback), raw = state.get()](uint32_t) {
    call(raw->sender);
  };
  if (int result = sd_event_add_signal(loop_.get(), &state->source, signal, on_signal, state.get());
      result < 0)
    return loop_error("wait for a signal", result);
  return EventSource(std::move(state));
}

Result<EventSource> EventLoop::add_timer(std::chrono::milliseconds delay,
                                         std::function<void()> callback) {
  auto state = make_state(without_events(std::move(callback)));
  if (int result =
          sd_event_add_time_relative(loop_.get(), &state->source, CLOCK_MONOTONIC,
                                     microseconds(delay), kTimerAccuracyUs, on_time, state.get());
      result < 0)
    return loop_error("set a timer", result);
  return EventSource(std::move(state));
}

Result<EventSource> EventLoop::add_repeating_timer(std::chrono::milliseconds interval,
                                                   std::function<void()> callback) {
  auto source = add_timer(interval, std::move(callback));
  if (source) source->state_->interval_us = microseconds(interval);
  return source;
}

Result<Notifier> EventLoop::add_notifier(std::function<void()> callback) {
  Notifier notifier;
  auto fd = std::make_shared<Fd>(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!*fd) return fail(ExitCode::os, "cannot create an eventfd: {}", errno_text(errno));
  notifier.eventfd_ = fd;
  auto source = add_io(fd->get(), EPOLLIN, [fd, call = std::move(callback)](uint32_t) {
    uint64_t rings = 0;
    // The counter is reset before the call: a notification during the call causes another one.
    if (::read(fd->get(), &rings, sizeof(rings)) == sizeof(rings)) call();
  });
  if (!source) return propagate(source);
  notifier.source_ = std::move(*source);
  return notifier;
}

void EventLoop::post(std::function<void()> task, Priority priority) {
  Posted& posted = priority == Priority::low ? low_ : posted_;
  {
    std::lock_guard lock(mutex_);
    posted.tasks.push_back(std::move(task));
  }
  posted.bell.notify();
}

// Runs the tasks posted before this turn. Tasks that they post run in the next turn.
void EventLoop::run_posted() {
  const auto begin = std::chrono::steady_clock::now();
  for (size_t left = count(posted_); left > 0; --left) {
    if (std::chrono::steady_clock::now() - begin >= kPostedPerTurn) return posted_.bell.notify();
    barrier_->run(take(posted_));
  }
}

// Sources that are ready now are served before the next task: sd-event prefers those that have
// waited longer.
void EventLoop::run_low() {
  if (count(low_) == 0) return;
  const auto task = take(low_);
  if (count(low_) > 0) low_.bell.notify();
  barrier_->run(task);
}

size_t EventLoop::count(const Posted& posted) {
  std::lock_guard lock(mutex_);
  return posted.tasks.size();
}

std::function<void()> EventLoop::take(Posted& posted) {
  std::lock_guard lock(mutex_);
  auto task = std::move(posted.tasks.front());
  posted.tasks.pop_front();
  return task;
}

}  // namespace ktraced
