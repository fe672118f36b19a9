// SPDX-License-Identifier: BSD-2-Clause
// The session that the view shown needs.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "ctl/rates/activity_session.h"
#include "ctl/rates/background_call.h"

namespace ktraced {

// Opens and ends sessions as views come and go.
class ActivityFeed {
 public:
  // `notified`: as of BackgroundCall.
  ActivityFeed(std::string socket, TopCommand command, int notified)
      : socket_(std::move(socket)), command_(std::move(command)), opening_(notified) {}

  [[nodiscard]] static bool needs_session(TopView view) {
    return view == TopView::processes || view == TopView::calls;
  }

  // Call it when the view changes, and when a BackgroundCall has notified.
  void show(TopView view);
  // Readable when read() is to be called; -1: there is no session.
  [[nodiscard]] int fd() const { return session_ ? session_->fd() : -1; }
  void read();
  // Why there are no rates; empty: there are.
  [[nodiscard]] const std::string& note() const { return note_; }
  // The session could not be opened, or has ended.
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  // Takes the rates of the session (ActivitySession::take()); nothing if there is no session, or if
  // it has counted for a shorter time than `least_s` seconds.
  [[nodiscard]] std::optional<TopTable> take(double least_s);

 private:
  void fail_with(Error error);
  void take_opened();

  std::string socket_;
  TopCommand command_;
  TopView view_ = TopView::events;          // that is shown
  TopView opening_view_ = TopView::events;  // for which a session is being opened
  std::string note_;
  std::optional<Error> error_;
  std::unique_ptr<ActivitySession> session_;  // of view_
  BackgroundCall<LiveSource> opening_;
};

}  // namespace ktraced
