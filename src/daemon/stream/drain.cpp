// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/stream/drain.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "base/realtime.h"

namespace ktraced {
namespace {

constexpr int kSoonMs = 1;
constexpr uint64_t kCatchUpIntervalNs = 1'000'000'000;
constexpr uint64_t kEverything = std::numeric_limits<uint64_t>::max();

// Returns when every record with a time up to `ts` is in its ring.
void wait_for_late_records(uint64_t ts) {
  while (boottime_ns() <= ts + kReorderWindowNs)
    std::this_thread::sleep_for(std::chrono::nanoseconds(kReorderWindowNs));
}

}  // namespace

Drain::Drain(const BpfObject& object, Counters& counters, uint32_t max_latency_ms)
    : counters_(counters),
      control_(object.control()),
      max_latency_ms_(static_cast<int>(max_latency_ms)) {}

Result<std::unique_ptr<Drain>> Drain::start(const BpfObject& object, Counters& counters,
                                            const KernelNames& names, uint32_t max_latency_ms) {
  std::unique_ptr<Drain> drain(new Drain(object, counters, max_latency_ms));
  if (auto started = drain->start(object, names); !started) return propagate(started);
  drain->thread_ = std::thread([self = drain.get()] { self->run(); });
  ::pthread_setname_np(drain->thread_.native_handle(), "ktraced-drain");
  return drain;
}

Result<> Drain::start(const BpfObject& object, const KernelNames& names) {
  auto follower = NameFollower::open(object, counters_, names);
  if (!follower) return propagate(follower);
  names_ = std::make_unique<NameFollower>(std::move(*follower));
  auto wakeups = RingReader::open(Fd(::dup(object.map_fd("stream_wakeups"))),
                                  object.map_capacity("stream_wakeups"));
  if (!wakeups) return propagate(wakeups);
  wakeups_ = std::make_unique<RingReader>(std::move(*wakeups));
  epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  wake_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{.events = EPOLLIN, .data = {.u64 = 0}};
  epoll_event wakeup{.events = EPOLLIN | EPOLLET, .data = {.u64 = 0}};
  if (!epoll_ || !wake_ || ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0 ||
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wakeups_->map_fd(), &wakeup) != 0)
    return fail(ExitCode::os, "cannot set up the drain thread: {}", errno_text(errno));
  return {};
}

// Edge-triggered: a ring that holds records becomes ready only when a program requests a wakeup.
Result<> Drain::watch(const SessionStream& stream) {
  for (const auto& [cpu, ring] : stream.rings().rings()) {
    if (ring.map_fd() < 0) continue;
    epoll_event event{.events = EPOLLIN | EPOLLET, .data = {.u64 = cpu + 1U}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, ring.map_fd(), &event) != 0 && errno != EEXIST)
      return fail(ExitCode::os, "cannot wait for the ring of CPU {}: {}", cpu, errno_text(errno));
  }
  return {};
}

Drain::~Drain() {
  if (!thread_.joinable()) return;
  call([this] { stop_ = true; });
  thread_.join();
}

int Drain::timeout() const {
  int timeout = -1;
  for (const auto& [session, stream] : streams_) {
    if (!stream->flowing()) continue;
    if (stream->requested()) return kSoonMs;
    timeout = max_latency_ms_;
  }
  return timeout;
}

void Drain::run() {
  std::array<epoll_event, 16> events{};
  while (!stop_) {
    ::epoll_wait(epoll_.get(), events.data(), events.size(), timeout());
    // Before the rings are read: a wakeup that comes from now on makes this thread ready again.
    wakeups_->release(wakeups_->produced());
    carry_out_requests();
    const uint64_t until = boottime_ns() - kReorderWindowNs;
    barrier_.run([this] { collect_names(); });
    for (const auto& [session, stream] : streams_)
      if (stream->flowing())
        barrier_.run([&] { stream->publish(until, std::max(until, stream->watermark())); });
  }
}

void Drain::carry_out_requests() {
  uint64_t count = 0;
  static_cast<void>(::read(wake_.get(), &count, sizeof(count)));
  std::unique_lock lock(mutex_);
  if (!task_) return;
  try {
    task_();
  } catch (...) {
    task_failure_ = std::current_exception();
  }
  task_ = nullptr;
  lock.unlock();
  done_.notify_all();
}

void Drain::call(const std::function<void()>& task) {
  std::unique_lock lock(mutex_);
  task_ = task;
  ::eventfd_write(wake_.get(), 1);
  done_.wait(lock, [this] { return !task_; });
  if (auto failure = std::exchange(task_failure_, nullptr)) std::rethrow_exception(failure);
}

void Drain::call(uint32_t session, const std::function<void(SessionStream& stream)>& task) {
  const auto found = streams_.find(session);
  if (found != streams_.end()) call([&] { task(*found->second); });
}

// Names that lie in the ring were meant for earlier readers: each reader begins with all names.
Result<> Drain::open(std::unique_ptr<SessionStream> stream, const LostByCpu* resume) {
  Result<> result;
  call([&] {
    result = watch(*stream);
    if (!result) return;
    if (resume != nullptr)
      stream->resume(*resume);
    else
      stream->begin();
    if (streams_.empty()) {
      names_->begin(resume != nullptr);
      std::atomic_ref(control_.stream).store(1);
    }
    streams_[stream->rings().session()] = std::move(stream);
  });
  return result;
}

void Drain::close(uint32_t session, Last last, std::span<const std::byte> records) {
  std::unique_ptr<SessionStream> closed;
  call(session, [&](SessionStream& stream) {
    const uint64_t now = boottime_ns();
    if (last != Last::nothing && stream.flowing()) {
      if (last == Last::leave) wait_for_late_records(now);
      collect_names();
      if (const auto since = stream.behind_since()) stream.catch_up(names_->last_since(*since));
      stream.add_names(records);
      stream.publish(kEverything, now, true);
    }
    late_before_ += stream.late_records();
    closed = std::move(streams_[session]);
    streams_.erase(session);
    if (streams_.empty() && last != Last::leave) std::atomic_ref(control_.stream).store(0);
  });
  if (closed && last != Last::leave) closed->rings().retire();
}

void Drain::flush(uint32_t session) {
  const uint64_t now = boottime_ns();
  call(session, [&](SessionStream& stream) {
    wait_for_late_records(now);
    collect_names();
    stream.publish(now, now);
  });
}

void Drain::announce(std::span<const std::byte> names) {
  call([&] {
    for (const auto& [session, stream] : streams_) stream->announce(names);
  });
}

void Drain::announce(uint32_t session, std::span<const std::byte> names) {
  call(session, [&](SessionStream& stream) { stream.announce(names); });
}

void Drain::request_batch(uint32_t session) {
  const auto found = streams_.find(session);
  if (found == streams_.end()) return;
  found->second->request();
  ::eventfd_write(wake_.get(), 1);
}

void Drain::set_max_latency(uint32_t milliseconds) {
  call([&] { max_latency_ms_ = static_cast<int>(milliseconds); });
}

Result<> Drain::set_realtime(bool on) { return ktraced::set_realtime(thread_.native_handle(), on); }

bool Drain::realtime() { return is_realtime(thread_.native_handle()); }

Result<> Drain::add_cpu(uint32_t cpu) {
  Result<> result;
  call([&] {
    for (const auto& [session, stream] : streams_) {
      if (result) result = stream->add_cpu(cpu);
      if (result) result = watch(*stream);
    }
  });
  return result;
}

Result<> Drain::resize(uint32_t session, size_t ring_bytes) {
  Result<> result;
  call(session, [&](SessionStream& stream) {
    result = stream.resize(ring_bytes);
    if (result) result = watch(stream);
  });
  return result;
}

uint64_t Drain::discard(uint32_t session) {
  uint64_t discarded = 0;
  call(session, [&](SessionStream& stream) { discarded = stream.discard(); });
  return discarded;
}

uint64_t Drain::late_records() {
  uint64_t sum = 0;
  call([&] {
    sum = late_before_;
    for (const auto& [session, stream] : streams_) sum += stream->late_records();
  });
  return sum;
}

const StreamRings* Drain::rings(uint32_t session) const {
  const auto found = streams_.find(session);
  return found == streams_.end() ? nullptr : &found->second->rings();
}

// The names go to all readers.
void Drain::collect_names() {
  if (streams_.empty()) return;
  const NameChanges changes = names_->take();
  for (const auto& [session, stream] : streams_) stream->add_names(changes);
  if (boottime_ns() >= caught_up_ns_ + kCatchUpIntervalNs) catch_up();
}

// Sends what readers lack of the names.
void Drain::catch_up() {
  std::optional<uint64_t> oldest;
  for (const auto& [session, stream] : streams_)
    if (const auto since = stream->behind_since())
      oldest = std::min(*since, oldest.value_or(*since));
  if (!oldest) return;
  const std::vector<std::byte> records = names_->last_since(*oldest);
  for (const auto& [session, stream] : streams_)
    if (stream->behind_since()) stream->catch_up(records);
  caught_up_ns_ = boottime_ns();
}

}  // namespace ktraced
