// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/control/control_connection.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "daemon/runtime/failure_barrier.h"
#include "daemon/runtime/would_block.h"

namespace ktraced {
namespace {

constexpr size_t kReadBytes = 64U << 10;
// The limits of one client's turn, in requests and time. Then other clients are served.
constexpr int kRequestsPerTurn = 16;
constexpr std::chrono::milliseconds kTimePerTurn{5};
// A buffer with a larger capacity is released when it is empty.
constexpr size_t kKeptCapacity = 4U << 10;

void release_if_large(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() > kKeptCapacity) buffer.shrink_to_fit();
}

// False if `work` has thrown. The connection must be closed then.
template <class Work>
bool survives(Work&& work) {
  return FailureBarrier("a connection").run(std::forward<Work>(work));
}

// Has the client closed both directions?
bool has_hung_up(const Fd& fd) {
  pollfd client{.fd = fd.get(), .events = 0, .revents = 0};
  return ::poll(&client, 1, 0) == 1 && (client.revents & (POLLHUP | POLLERR)) != 0;
}

std::string seconds_text(std::chrono::milliseconds time) {
  return fmt::format("{:g} s", std::chrono::duration<double>(time).count());
}

}  // namespace

ControlConnection::ControlConnection(Fd fd, const Peer& peer, Admission::Share share,
                                     const Methods& methods, const ControlLimits& limits)
    : fd_(std::move(fd)),
      peer_(peer),
      share_(std::move(share)),
      methods_(methods),
      limits_(limits) {
  set_patience(limits.first_request);
  source_of_requests_ = std::make_shared<RequestSource>(
      [this](std::string line, Takeover takeover) {
        take_answer(std::move(line), std::move(takeover));
      },
      // Errors of sending are handled after the request has been answered.
      [this](const std::string& line) {
        output_ += line;
        broken_ |= !flush();
      });
}

void ControlConnection::set_patience(std::chrono::milliseconds time) {
  patience_ = time;
  deadline_ = Clock::now() + time;
}

Result<> ControlConnection::start(EventLoop& loop, std::function<void()> on_done) {
  loop_ = &loop;
  on_done_ = std::move(on_done);
  auto source = loop.add_io(fd_.get(), EPOLLIN, [this](uint32_t events) { on_io(events); });
  if (!source) return propagate(source);
  source_ = std::move(*source);
  return {};
}

// Each turn does everything that is possible without blocking, for any event.
void ControlConnection::on_io(uint32_t events) {
  // A client that has hung up does not need the pending answer.
  if (awaiting_ && (events & (EPOLLHUP | EPOLLERR)) != 0) broken_ = true;
  broken_ |= !survives([this] {
    if (!line_waiting() || refusing_) broken_ |= !fill();
  });
  priority_of(peer_) == Priority::low ? wait_for_turn() : proceed();
}

// Proceeds in a task of low priority. Until then nothing else is read: a client that has hung up
// would wake the loop all the time.
void ControlConnection::wait_for_turn() {
  source_.set_enabled(false);
  share_.wait_for_turn(*loop_, [this, alive = std::weak_ptr(source_of_requests_)] {
    if (alive.expired()) return;
    source_.set_enabled(true);
    broken_ |= has_hung_up(fd_);
    proceed();  // may destroy this object
  });
}

void ControlConnection::set_access(const AccessRules& rules) {
  const auto peer = peer_of(fd_.get(), rules);
  peer_.role = peer ? peer->role : Role::none;
}

// Disconnects a client whose requests cannot be read, for example when memory is short.
void ControlConnection::proceed() {
  broken_ |= !survives([this] {
    answer_requests();
    broken_ |= !flush();
    share_.set_unread(output_.size() - sent_);
  });
  bool take_over = takeover_ && output_.empty() && !broken_;
  if (broken_ || take_over || at_end())
    finish();
  else
    update_interest();
}

// The last call: destroys this object.
void ControlConnection::finish() {
  Fd fd = std::move(fd_);
  Peer peer = peer_;
  Takeover take_over = broken_ ? nullptr : std::move(takeover_);
  source_.reset();
  auto done = std::move(on_done_);
  done();
  if (take_over) take_over(std::move(fd), peer);
}

// Reads available input, up to one request that is too long. False: the connection is broken.
bool ControlConnection::fill() {
  if (end_of_input_) return true;
  if (taken_ > 0) input_.erase(0, taken_);
  searched_ -= std::min(searched_, std::exchange(taken_, 0));
  std::array<char, kReadBytes> bytes;
  const size_t room =
      std::min(kReadBytes, line_limit() + 1 - std::min(input_.size(), line_limit()));
  const ssize_t got = ::recv(fd_.get(), bytes.data(), room, MSG_DONTWAIT);
  if (got < 0) return would_block(errno);
  end_of_input_ = got == 0;
  if (!refusing_) input_.append(bytes.data(), static_cast<size_t>(got));
  return true;
}

bool ControlConnection::flush() {
  while (sent_ < output_.size()) {
    ssize_t sent = ::send(fd_.get(), output_.data() + sent_, output_.size() - sent_,
                          MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) {
      int error = errno;
      output_.erase(0, std::exchange(sent_, 0));
      return would_block(error);
    }
    sent_ += static_cast<size_t>(sent);
  }
  release_if_large(output_);
  sent_ = 0;
  if (refusing_) ::shutdown(fd_.get(), SHUT_WR);
  return true;
}

void ControlConnection::answer_requests() {
  answering_ = true;
  const auto begin = Clock::now();
  for (int i = 0;
       i < kRequestsPerTurn && answerable() && (i == 0 || Clock::now() - begin < kTimePerTurn);
       ++i) {
    std::string_view line = take_line();
    if (line.size() > line_limit()) {
      refuse(RpcCode::not_a_request,
             fmt::format("the request is longer than {} bytes", line_limit()));
      break;
    }
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (share_.unread_exhausted()) {
      refuse(RpcCode::failed, "closed: this user leaves too many answers unread");
      break;
    }
    awaiting_ = true;
    methods_.answer(line, peer_, source_of_requests_);
    share_.set_unread(output_.size() - sent_);
    set_patience(limits_.idle);
  }
  answering_ = false;
  if (taken_ == input_.size()) {
    release_if_large(input_);
    taken_ = searched_ = 0;
  }
}

bool ControlConnection::answerable() {
  return !refusing_ && !takeover_ && !awaiting_ && !broken_ && line_waiting() &&
         output_.size() - sent_ <= limits_.pending_output;
}

// Sends the answer of the current request.
void ControlConnection::take_answer(std::string line, Takeover takeover) {
  awaiting_ = false;
  broken_ |= !survives([&] {
    methods_.edit_line(peer_, line);
    output_ += line;
  });
  takeover_ = std::move(takeover);
  set_patience(limits_.idle);
  if (!answering_) proceed();  // may destroy this object
}

// True if there is a whole line, or a line without an end that is too long or that ends the input.
bool ControlConnection::line_waiting() {
  searched_ = std::max(searched_, taken_);
  searched_ = std::min(input_.find('\n', searched_), input_.size());
  size_t length = input_.size() - taken_;
  return searched_ < input_.size() || length > line_limit() || (end_of_input_ && length > 0);
}

size_t ControlConnection::line_limit() const {
  return peer_.role == Role::admin ? limits_.line_bytes
                                   : std::min(limits_.line_bytes, limits_.reader_line_bytes);
}

std::string_view ControlConnection::take_line() {
  size_t begin = taken_;
  taken_ = std::min(searched_ + 1, input_.size());
  return std::string_view(input_).substr(begin, searched_ - begin);
}

// Reports the reason and closes. For a while, further input is read and discarded: closing at once
// would make the client's send() fail before it has read the reason.
void ControlConnection::refuse(RpcCode code, std::string message) {
  output_ += error_line(code, {ExitCode::data, std::move(message)});
  refusing_ = true;
  release_if_large(input_);
  taken_ = searched_ = 0;
  set_patience(limits_.linger);
}

bool ControlConnection::at_end() const {
  return end_of_input_ && !awaiting_ && output_.empty() && taken_ == input_.size();
}

void ControlConnection::update_interest() {
  const bool line = !refusing_ && line_waiting();
  const bool full = output_.size() - sent_ > limits_.pending_output;
  uint32_t events = 0;
  if (!end_of_input_ && !line && !takeover_ && !full) events |= EPOLLIN;
  // EPOLLOUT also wakes the loop to handle requests that were already read.
  if (!output_.empty() || (line && !takeover_ && !awaiting_)) events |= EPOLLOUT;
  source_.watch(events);
}

void ControlConnection::check_deadline(Clock::time_point now) {
  if (now < deadline_ || awaiting_) return;
  if (refusing_ || takeover_) {
    broken_ = true;
    return finish();
  }
  refuse(RpcCode::failed, fmt::format("closed: no request within {}", seconds_text(patience_)));
  proceed();
}

}  // namespace ktraced
