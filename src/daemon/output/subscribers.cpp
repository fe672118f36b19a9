// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/output/subscribers.h"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "daemon/output/subscriber_queue.h"
#include "daemon/runtime/would_block.h"

namespace ktraced {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kPartsPerWrite = 64;
constexpr size_t kBytesPerTurn = 2U << 20;  // then other descriptors are served

}  // namespace

// One reader. Members marked as shared are guarded by Subscribers::mutex_. The others belong to the
// main thread.
class Subscribers::Subscriber {
 public:
  Subscriber(Fd fd, Reader reader, const SubscriberLimits& limits)
      : fd_(std::move(fd)),
        reader_(std::move(reader)),
        queue(limits.event_bytes, limits.name_bytes) {}

  Result<> watch(EventLoop& loop, std::function<void(uint32_t)> callback) {
    auto source = loop.add_io(fd_.get(), EPOLLIN, std::move(callback));
    if (!source) return propagate(source);
    source_ = std::move(*source);
    return {};
  }

  void discard_input(uint32_t events);
  void write(std::mutex& mutex);
  [[nodiscard]] pollfd awaited() const {
    return {.fd = fd_.get(), .events = POLLOUT, .revents = 0};
  }
  [[nodiscard]] const Peer& peer() const { return reader_.peer; }
  [[nodiscard]] Role role_by(const AccessRules& rules) const {
    const auto peer = peer_of(fd_.get(), rules);
    return peer ? peer->role : Role::none;
  }
  [[nodiscard]] uint32_t session() const { return reader_.session; }
  [[nodiscard]] const std::string& session_name() const { return reader_.name; }
  [[nodiscard]] bool blocked() const { return blocked_; }
  [[nodiscard]] bool input_ended() const { return input_ended_; }
  [[nodiscard]] bool broken() const { return broken_; }
  [[nodiscard]] std::chrono::seconds age() const {
    return std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - since_);
  }

 private:
  Fd fd_;
  Reader reader_;
  EventSource source_;
  Clock::time_point since_ = Clock::now();
  bool blocked_ = false;      // the socket buffer is full; epoll reports when it is not
  bool input_ended_ = false;  // the reader has requested the end of the stream
  bool broken_ = false;

 public:
  SubscriberQueue queue;   // shared
  bool ended = false;      // shared: nothing more will be queued
  bool overflown = false;  // shared: `ended` because metadata did not fit, and not reported yet
};

// A reader sends nothing more. It can only close its end.
void Subscribers::Subscriber::discard_input(uint32_t events) {
  std::array<char, 4096> ignored;
  ssize_t got = ::recv(fd_.get(), ignored.data(), ignored.size(), MSG_DONTWAIT);
  if (got == 0) input_ended_ = true;
  if (got < 0 && !would_block(errno)) broken_ = true;
  // Hung up: the reader has closed both directions and would not read the rest.
  if ((events & (EPOLLHUP | EPOLLERR)) != 0) broken_ = true;
}

void Subscribers::Subscriber::write(std::mutex& mutex) {
  std::array<iovec, kPartsPerWrite> parts;
  blocked_ = false;
  for (size_t total = 0; !broken_ && !blocked_;) {
    size_t count = 0;
    {
      std::lock_guard lock(mutex);
      count = queue.peek(parts, kBytesPerTurn);
    }
    if (count == 0) break;
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    ssize_t sent = ::sendmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      std::lock_guard lock(mutex);
      queue.written(static_cast<size_t>(sent));
      blocked_ = (total += static_cast<size_t>(sent)) >= kBytesPerTurn;
    } else if (errno == EAGAIN) {
      blocked_ = true;
    } else if (errno != EINTR) {
      broken_ = true;
    }
  }
  source_.watch((input_ended_ ? 0U : static_cast<uint32_t>(EPOLLIN)) |
                (blocked_ ? static_cast<uint32_t>(EPOLLOUT) : 0U));
}

Subscribers::Subscribers(EventLoop& loop, Hooks hooks, SubscriberLimits limits)
    : loop_(loop), hooks_(std::move(hooks)), limits_(limits) {}

Subscribers::~Subscribers() = default;

Result<std::unique_ptr<Subscribers>> Subscribers::create(EventLoop& loop, Hooks hooks,
                                                         SubscriberLimits limits) {
  std::unique_ptr<Subscribers> subscribers(new Subscribers(loop, std::move(hooks), limits));
  auto bell = loop.add_notifier([raw = subscribers.get()] { raw->write_all(); });
  if (!bell) return propagate(bell);
  subscribers->published_ = std::move(*bell);
  return subscribers;
}

Result<> Subscribers::add(Fd connection, Reader reader,
                          const std::function<std::vector<PacketBytes>()>& first_packets) {
  std::list<Subscriber> added;
  Subscriber& subscriber = added.emplace_back(std::move(connection), std::move(reader), limits_);
  auto watched =
      subscriber.watch(loop_, [this, &subscriber](uint32_t events) { on_io(subscriber, events); });
  if (!watched) return watched;
  {
    std::lock_guard lock(mutex_);
    subscribers_.splice(subscribers_.end(), added);
  }
  // Names are collected while batches are already queued, so that no name is lost, and without
  // the lock, so that the drain never waits. Only this thread writes to the socket, so nothing is
  // sent before.
  const std::vector<PacketBytes> first = first_packets();
  {
    std::lock_guard lock(mutex_);
    subscriber.queue.prepend(first);
  }
  spdlog::debug("pid {} reads the stream", subscriber.peer().pid);
  published_.notify();
  return {};
}

void Subscribers::on_io(Subscriber& subscriber, uint32_t events) {
  bool had_ended = subscriber.input_ended();
  if (!had_ended || (events & (EPOLLHUP | EPOLLERR)) != 0) subscriber.discard_input(events);
  if (subscriber.input_ended() && !had_ended && !subscriber.broken())
    hooks_.finish(subscriber.session());
  subscriber.write(mutex_);
  remove_finished();  // may destroy `subscriber`
}

bool Subscribers::publish(uint32_t session, std::span<const PacketBytes> batch, bool last) {
  if (batch.empty()) return true;
  bool names_fit = true, dropped = false;
  {
    std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(subscribers_, session, &Subscriber::session);
    if (found == subscribers_.end() || found->ended) return true;
    const uint64_t lost_before = found->queue.lost_events();
    names_fit = found->queue.push_batch(batch, last);
    dropped = found->queue.lost_events() != lost_before;
    found->overflown = found->queue.overflown();
    found->ended = last || found->overflown;
  }
  published_.notify();
  if (dropped && hooks_.on_dropped) hooks_.on_dropped(session);
  return names_fit;
}

// What the reader leaves unread is dropped, but for the reason.
void Subscribers::end_overflown() {
  for (Subscriber& subscriber : subscribers_) {
    {
      std::lock_guard lock(mutex_);
      if (!std::exchange(subscriber.overflown, false)) continue;
      subscriber.queue.end_because("its reader leaves too much unread");
    }
    spdlog::warn("pid {} does not read the stream: ending it", subscriber.peer().pid);
    ++gone_.closed;
    hooks_.finish(subscriber.session());
  }
}

void Subscribers::write_all() {
  end_overflown();
  for (Subscriber& subscriber : subscribers_)
    if (!subscriber.blocked()) subscriber.write(mutex_);
  remove_finished();
}

void Subscribers::remove_finished() {
  std::list<Subscriber> finished;
  {
    std::lock_guard lock(mutex_);
    for (auto next = subscribers_.begin(); next != subscribers_.end();) {
      auto it = next++;
      if (it->broken() || (it->ended && !it->overflown && it->queue.empty()))
        finished.splice(finished.end(), subscribers_, it);
    }
  }
  if (finished.empty()) return;
  for (const Subscriber& gone : finished) {
    gone_.sent_packets += gone.queue.sent_packets();
    gone_.lost_events += gone.queue.lost_events();
    spdlog::debug("pid {} reads the stream no longer: {} packets sent, {} events lost",
                  gone.peer().pid, gone.queue.sent_packets(), gone.queue.lost_events());
  }
  finished.clear();
  if (hooks_.on_gone) hooks_.on_gone();
}

std::vector<uint32_t> Subscribers::beyond(const AccessRules& rules) const {
  std::vector<uint32_t> sessions;
  std::lock_guard lock(mutex_);
  for (const Subscriber& subscriber : subscribers_)
    if (subscriber.role_by(rules) < subscriber.peer().role)
      sessions.push_back(subscriber.session());
  return sessions;
}

std::vector<SubscriberStatus> Subscribers::status() const {
  std::vector<SubscriberStatus> list;
  std::lock_guard lock(mutex_);
  for (const Subscriber& subscriber : subscribers_)
    list.push_back({.session = subscriber.session_name(),
                    .pid = subscriber.peer().pid,
                    .uid = subscriber.peer().uid,
                    .queued_bytes = subscriber.queue.queued_bytes(),
                    .sent_packets = subscriber.queue.sent_packets(),
                    .lost_events = subscriber.queue.lost_events(),
                    .age = subscriber.age()});
  return list;
}

SubscriberTotals Subscribers::totals() const {
  SubscriberTotals totals = gone_;
  std::lock_guard lock(mutex_);
  for (const Subscriber& subscriber : subscribers_) {
    totals.sent_packets += subscriber.queue.sent_packets();
    totals.lost_events += subscriber.queue.lost_events();
  }
  return totals;
}

void Subscribers::finish_all(std::chrono::milliseconds timeout) {
  {
    std::lock_guard lock(mutex_);
    for (Subscriber& subscriber : subscribers_) {
      if (!subscriber.ended) subscriber.queue.push_end();
      subscriber.ended = true;
    }
  }
  const auto deadline = Clock::now() + timeout;
  while (write_the_rest()) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) break;
    std::vector<pollfd> waiting;
    for (const Subscriber& subscriber : subscribers_) waiting.push_back(subscriber.awaited());
    ::poll(waiting.data(), waiting.size(), static_cast<int>(left.count()));
  }
  std::lock_guard lock(mutex_);
  for (const Subscriber& late : subscribers_)
    spdlog::warn("pid {} reads the stream too slowly: {} bytes are not sent", late.peer().pid,
                 late.queue.queued_bytes());
  subscribers_.clear();
}

// Closes the subscribers that have received everything; false: no others are left.
bool Subscribers::write_the_rest() {
  for (Subscriber& subscriber : subscribers_) subscriber.write(mutex_);
  std::lock_guard lock(mutex_);
  subscribers_.remove_if(
      [](const Subscriber& subscriber) { return subscriber.broken() || subscriber.queue.empty(); });
  return !subscribers_.empty();
}

}  // namespace ktraced
