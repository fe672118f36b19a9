// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/control/admission.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace ktraced {
namespace {

// A limit could lock out the administrator who has to fix the problem.
bool is_unlimited(const Peer& peer) { return peer.uid == 0 || peer.uid == ::geteuid(); }

}  // namespace

Admission::Share::Share(Admission& admission, const Peer& peer)
    : admission_(&admission), peer_(peer) {
  ++admission_->connections_;
  ++admission_->users_[peer_.uid].connections;
}

Admission::Share::Share(Share&& other) noexcept
    : admission_(std::exchange(other.admission_, nullptr)),
      peer_(other.peer_),
      unread_(other.unread_) {}

Admission::Share::~Share() {
  if (admission_ == nullptr) return;
  --admission_->connections_;
  const auto user = admission_->users_.find(peer_.uid);
  user->second.unread -= unread_;
  if (--user->second.connections == 0) admission_->users_.erase(user);
}

void Admission::Share::set_unread(size_t bytes) {
  if (bytes == unread_) return;
  size_t& all = admission_->users_[peer_.uid].unread;
  all = all - unread_ + bytes;
  unread_ = bytes;
}

bool Admission::Share::unread_exhausted() const {
  if (is_unlimited(peer_)) return false;
  const auto user = admission_->users_.find(peer_.uid);
  return user != admission_->users_.end() &&
         user->second.unread > admission_->limits_.unread_per_user;
}

void Admission::Turns::run_next() {
  if (order.empty()) return;
  const uid_t user = order.front();
  order.pop_front();
  const auto waiting = tasks.find(user);
  if (waiting == tasks.end() || waiting->second.empty()) return;  // memory was short
  const auto task = std::move(waiting->second.front());
  waiting->second.pop_front();
  if (waiting->second.empty())
    tasks.erase(waiting);
  else
    order.push_back(user);
  task();
}

void Admission::Share::wait_for_turn(EventLoop& loop, std::function<void()> task) {
  Turns& turns = *admission_->turns_;
  auto& waiting = turns.tasks[peer_.uid];
  if (waiting.empty()) turns.order.push_back(peer_.uid);
  waiting.push_back(std::move(task));
  loop.post([turns = admission_->turns_] { turns->run_next(); }, Priority::low);
}

Result<Admission::Share> Admission::admit(const Peer& peer) {
  if (peer.role == Role::none) return std::unexpected(no_role_error());
  if (connections_ >= limits_.connections)
    return fail(ExitCode::unavailable, "too many connections: {} are open", connections_);
  if (is_unlimited(peer)) return Share(*this, peer);
  if (const auto user = users_.find(peer.uid);
      user != users_.end() && user->second.connections >= limits_.connections_per_user)
    return fail(ExitCode::unavailable,
                "too many connections: uid {} has {} open, the limit of one user; close some",
                peer.uid, user->second.connections);
  const size_t kept = std::min(limits_.connections_kept, limits_.connections);
  if (peer.role != Role::admin && connections_ >= limits_.connections - kept)
    return fail(ExitCode::unavailable,
                "too many connections: {} are open, and the other {} are kept for administrators",
                connections_, kept);
  return Share(*this, peer);
}

}  // namespace ktraced
