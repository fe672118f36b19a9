// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshots/bank_queue.h"

#include <algorithm>
#include <utility>

namespace ktraced {

Result<> BankQueue::add(Waiter waiter, std::chrono::milliseconds timeout) {
  drop_disconnected();
  if (entries_.size() >= kMax)
    return fail(ExitCode::unavailable,
                "{} requests wait for a spare bank already: try again when a snapshot has been "
                "written",
                entries_.size());
  const uint64_t id = ++last_id_;
  auto timer = loop_.add_timer(timeout, [this, id, timeout] { expire(id, timeout); });
  if (!timer) return propagate(timer);
  entries_.push_back({.id = id, .waiter = std::move(waiter), .timer = std::move(*timer)});
  return {};
}

// A request is removed before it is called: a call may add requests, and serve them.
void BankQueue::serve(const std::function<bool()>& is_possible) {
  drop_disconnected();
  while (!entries_.empty() && is_possible()) {
    const Waiter waiter = std::move(entries_.front().waiter);
    entries_.pop_front();
    if (waiter.connected()) waiter.take();
  }
}

void BankQueue::fail_all(const Error& error) {
  for (const Entry& entry : std::exchange(entries_, {}))
    if (entry.waiter.connected()) entry.waiter.fail(error);
}

void BankQueue::expire(uint64_t id, std::chrono::milliseconds timeout) {
  const auto found = std::ranges::find(entries_, id, &Entry::id);
  if (found == entries_.end()) return;
  const Waiter waiter = std::move(found->waiter);
  entries_.erase(found);
  if (!waiter.connected()) return;
  const Error reason = why_not_();
  waiter.fail({ExitCode::unavailable,
               fmt::format("timed out after {:g} s: {}",
                           std::chrono::duration<double>(timeout).count(), reason.message)});
}

size_t BankQueue::size() const {
  return static_cast<size_t>(
      std::ranges::count_if(entries_, [](const Entry& entry) { return entry.waiter.connected(); }));
}

bool BankQueue::contains(const std::string& name) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) {
    return entry.waiter.name == name && entry.waiter.connected();
  });
}

void BankQueue::drop_disconnected() {
  std::erase_if(entries_, [](const Entry& entry) { return !entry.waiter.connected(); });
}

}  // namespace ktraced
