// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/metrics/http_connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "daemon/runtime/failure_barrier.h"
#include "daemon/runtime/would_block.h"

namespace ktraced {

HttpConnection::HttpConnection(Fd fd, std::optional<uid_t> user, const HttpHandler& handler,
                               const HttpLimits& limits)
    : fd_(std::move(fd)), user_(user), handler_(handler), limits_(limits), since_(Clock::now()) {}

Result<> HttpConnection::start(EventLoop& loop, std::function<void()> on_done) {
  on_done_ = std::move(on_done);
  auto source = loop.add_io(fd_.get(), EPOLLIN, [this](uint32_t events) { on_io(events); });
  if (!source) return propagate(source);
  source_ = std::move(*source);
  return {};
}

void HttpConnection::set_state(State state) {
  state_ = state;
  since_ = Clock::now();
}

void HttpConnection::on_io(uint32_t events) {
  if ((events & (EPOLLHUP | EPOLLERR)) != 0) broken_ = true;
  if (!broken_ && (events & EPOLLIN) != 0) broken_ = !fill();
  proceed();
}

// Does what is possible without blocking: at most one request, then other clients are served. An
// exception, for example when memory is short, ends the connection.
void HttpConnection::proceed() {
  broken_ |= !FailureBarrier("a reader of metrics").run([this] {
    if (state_ == State::writing) broken_ |= !flush();
    if (state_ == State::reading && !broken_) take_request();
    if (state_ == State::writing && !broken_) broken_ |= !flush();
  });
  const bool finished =
      end_of_input_ && (state_ == State::lingering || (state_ == State::reading && input_.empty()));
  if (broken_ || finished)
    close();
  else
    update_interest();
}

void HttpConnection::close() {
  source_.reset();
  fd_.reset();
  const auto done = std::move(on_done_);
  done();
}

void HttpConnection::update_interest() {
  uint32_t events = 0;
  if (!end_of_input_ && (state_ == State::reading || state_ == State::lingering)) events = EPOLLIN;
  if (state_ == State::writing) events = EPOLLOUT;
  // Another request was read with the one before: EPOLLOUT wakes the loop for it.
  if (state_ == State::reading && parse_http_request(input_)) events = EPOLLOUT;
  source_.watch(events);
}

// Reads available input; false: the connection is broken.
bool HttpConnection::fill() {
  std::array<char, kHttpHeadBytes> bytes;
  const size_t room = state_ == State::lingering
                          ? bytes.size()
                          : bytes.size() - std::min(bytes.size(), input_.size());
  if (room == 0) return true;
  const ssize_t got = ::recv(fd_.get(), bytes.data(), room, MSG_DONTWAIT);
  if (got < 0) return would_block(errno);
  end_of_input_ = got == 0;
  if (state_ == State::lingering) return true;
  if (input_.empty()) since_ = Clock::now();
  input_.append(bytes.data(), static_cast<size_t>(got));
  return true;
}

void HttpConnection::take_request() {
  auto parsed = parse_http_request(input_);
  if (!parsed) {
    if (end_of_input_ && !input_.empty()) broken_ = true;  // nobody waits for an answer
    return;
  }
  input_.erase(0, parsed->size);
  if (const auto* refusal = std::get_if<HttpRefusal>(&parsed->request)) return refuse(*refusal);
  const HttpRequest& request = std::get<HttpRequest>(parsed->request);
  head_ = request.head;
  close_after_ = !request.keep_alive;
  set_state(State::awaiting);
  taking_ = true;
  handler_(request, reply());
  taking_ = false;
}

void HttpConnection::refuse(const HttpRefusal& refusal) {
  head_ = false;
  close_after_ = true;
  answer({.status = refusal.status, .body = std::string(refusal.reason) + "\n"});
}

HttpReply HttpConnection::reply() {
  return [weak = std::weak_ptr(self_)](const HttpAnswer& answer) {
    const auto self = weak.lock();
    if (!self || (*self)->state_ != State::awaiting) return;
    (*self)->answer(answer);
    if (!(*self)->taking_) (*self)->proceed();  // may destroy it
  };
}

void HttpConnection::answer(const HttpAnswer& answer) {
  output_ = http_response(answer, head_, close_after_);
  sent_ = 0;
  set_state(State::writing);
}

bool HttpConnection::flush() {
  while (sent_ < output_.size()) {
    const ssize_t sent = ::send(fd_.get(), output_.data() + sent_, output_.size() - sent_,
                                MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) return would_block(errno);
    sent_ += static_cast<size_t>(sent);
  }
  output_ = {};
  set_state(close_after_ ? State::lingering : State::reading);
  // Closing at once would discard the answer if there is unread input.
  if (close_after_) ::shutdown(fd_.get(), SHUT_WR);
  return true;
}

std::chrono::milliseconds HttpConnection::patience() const {
  switch (state_) {
    case State::reading:
      return input_.empty() ? limits_.idle : limits_.request;
    case State::writing:
      return limits_.answer;
    case State::lingering:
      return limits_.linger;
    case State::awaiting:
      break;
  }
  return std::chrono::milliseconds::max();
}

void HttpConnection::check_deadline(Clock::time_point now) {
  if (state_ == State::awaiting || now - since_ < patience()) return;
  if (state_ != State::reading || input_.empty()) return close();
  refuse({.status = 408, .reason = "the request is not complete"});
  proceed();
}

}  // namespace ktraced
