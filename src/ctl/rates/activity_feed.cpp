// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/rates/activity_feed.h"

#include <utility>

namespace ktraced {

void ActivityFeed::show(TopView view) {
  if (std::exchange(view_, view) != view) {
    session_.reset();
    error_.reset();
    note_ = needs_session(view) ? "opening a session ..." : "";
  }
  take_opened();
  if (!needs_session(view) || session_ || error_ || opening_.running()) return;
  opening_view_ = view;
  opening_.start([socket = socket_, view, command = command_](CallHandle& handle) {
    return ActivitySession::open(socket, view, command, handle);
  });
}

// A session for another view than the one shown by now is ended at once.
void ActivityFeed::take_opened() {
  auto opened = opening_.take();
  if (!opened || opening_view_ != view_) return;
  if (!*opened) return fail_with(std::move(opened->error()));
  auto session = ActivitySession::over(std::move(**opened), view_, command_);
  if (!session) return fail_with(std::move(session.error()));
  session_ = std::move(*session);
  note_.clear();
}

void ActivityFeed::fail_with(Error error) {
  note_ = error.message;
  error_ = std::move(error);
  session_.reset();
}

void ActivityFeed::read() {
  if (!session_) return;
  if (auto read = session_->read(); !read) fail_with(std::move(read.error()));
}

std::optional<TopTable> ActivityFeed::take(double least_s) {
  if (!session_ || session_->seconds() < least_s) return std::nullopt;
  return session_->take();
}

}  // namespace ktraced
