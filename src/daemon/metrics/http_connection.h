// SPDX-License-Identifier: BSD-2-Clause
// One client of the metrics.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "daemon/metrics/http_request.h"
#include "daemon/runtime/event_loop.h"

namespace ktraced {

struct HttpLimits {
  size_t connections = 16;
  size_t of_a_user = 4;                       // connections of one user
  std::chrono::milliseconds request{10'000};  // from its first byte to its last one
  std::chrono::milliseconds answer{30'000};   // until the client has read it
  std::chrono::milliseconds idle{120'000};    // between requests
  std::chrono::milliseconds linger{1'000};    // after a refusal, for the client to read it
};

// Gets the answer to a request, once or never; may be called after the connection has gone.
using HttpReply = std::function<void(const HttpAnswer& answer)>;
using HttpHandler = std::function<void(const HttpRequest& request, const HttpReply& reply)>;

// Reads requests, answers them in order, and never blocks. Its input is bounded by kHttpHeadBytes,
// its output by one answer. `handler` and `limits` must outlive it.
class HttpConnection {
 public:
  using Clock = std::chrono::steady_clock;

  // `user` at the other end; nothing: unknown.
  HttpConnection(Fd fd, std::optional<uid_t> user, const HttpHandler& handler,
                 const HttpLimits& limits);
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // Starts serving. `on_done` is called once, when the connection has ended; it destroys this
  // object.
  Result<> start(EventLoop& loop, std::function<void()> on_done);
  // Ends the connection of a client that is too slow; may destroy this object.
  void check_deadline(Clock::time_point now);
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] std::optional<uid_t> user() const { return user_; }
  // True if no request has begun.
  [[nodiscard]] bool idle() const { return state_ == State::reading && input_.empty(); }
  // True while the answer to its request is being made.
  [[nodiscard]] bool awaits_answer() const { return state_ == State::awaiting; }
  // When it became idle, or began with what it does now.
  [[nodiscard]] Clock::time_point since() const { return since_; }
  // Ends it now: destroys this object.
  void close();

 private:
  enum class State { reading, awaiting, writing, lingering };

  void set_state(State state);
  [[nodiscard]] std::chrono::milliseconds patience() const;
  void on_io(uint32_t events);
  void proceed();
  void update_interest();
  bool fill();
  bool flush();
  void take_request();
  void refuse(const HttpRefusal& refusal);
  void answer(const HttpAnswer& answer);
  [[nodiscard]] HttpReply reply();

  Fd fd_;
  std::optional<uid_t> user_;
  const HttpHandler& handler_;
  const HttpLimits& limits_;
  EventSource source_;
  std::function<void()> on_done_;
  State state_ = State::reading;
  Clock::time_point since_;  // of the state; while reading, of the request's first byte, if any
  std::string input_;        // not yet taken
  std::string output_;       // from sent_ on: not yet sent
  size_t sent_ = 0;
  bool head_ = false;          // of the request that is being answered
  bool close_after_ = false;   // the connection ends after this answer
  bool end_of_input_ = false;  // the client sends nothing more
  bool broken_ = false;
  bool taking_ = false;  // in take_request()
  // Points to this object while it exists, for answers that come later.
  std::shared_ptr<HttpConnection*> self_ = std::make_shared<HttpConnection*>(this);
};

}  // namespace ktraced
