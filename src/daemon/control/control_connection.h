// SPDX-License-Identifier: BSD-2-Clause
// One client of the control socket.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "daemon/control/admission.h"
#include "daemon/control/rpc.h"
#include "daemon/runtime/event_loop.h"
#include "daemon/runtime/peer.h"

namespace ktraced {

struct ControlLimits {
  AdmissionLimits admission = {};
  size_t line_bytes = 1U << 20;                     // longest request
  size_t reader_line_bytes = 128U << 10;            // longest request of a client with role read
  size_t pending_output = 1U << 18;                 // with more unsent output, no requests are read
  std::chrono::milliseconds first_request{30'000};  // from connecting to a whole request
  std::chrono::milliseconds idle{600'000};          // between requests
  std::chrono::milliseconds linger{2'000};          // before a rejected client is closed
};

// Reads requests, answers them in order, and never blocks. In each turn of the loop, all
// administrators that wait are answered, and one client that may only read, of one user after the
// other; what such a client has requested before it hangs up is dropped. `methods`, `limits` and
// the loop must outlive it.
class ControlConnection {
 public:
  using Clock = std::chrono::steady_clock;

  ControlConnection(Fd fd, const Peer& peer, Admission::Share share, const Methods& methods,
                    const ControlLimits& limits);
  ControlConnection(const ControlConnection&) = delete;
  ControlConnection& operator=(const ControlConnection&) = delete;

  // Starts serving. `on_done` is called once, when the connection has ended; it destroys this
  // object.
  Result<> start(EventLoop& loop, std::function<void()> on_done);
  // The client's role by these rules, for requests from now on.
  void set_access(const AccessRules& rules);
  // Closes the connection of a client that has been silent for too long.
  void check_deadline(Clock::time_point now);

 private:
  void set_patience(std::chrono::milliseconds time);
  void on_io(uint32_t events);
  void wait_for_turn();
  void proceed();
  void finish();
  bool fill();
  bool flush();
  void answer_requests();
  void take_answer(std::string line, Takeover takeover);
  [[nodiscard]] bool answerable();
  [[nodiscard]] bool line_waiting();
  [[nodiscard]] std::string_view take_line();
  void refuse(RpcCode code, std::string message);
  [[nodiscard]] size_t line_limit() const;
  [[nodiscard]] bool at_end() const;
  void update_interest();

  Fd fd_;
  Peer peer_;
  Admission::Share share_;
  const Methods& methods_;
  const ControlLimits& limits_;
  EventLoop* loop_ = nullptr;  // none: not started
  EventSource source_;
  std::function<void()> on_done_;
  std::chrono::milliseconds patience_{};
  Clock::time_point deadline_;

  std::string input_;  // from taken_ on: not yet answered
  size_t taken_ = 0;
  size_t searched_ = 0;  // no newline before this offset
  std::string output_;   // from sent_ on: not yet sent
  size_t sent_ = 0;
  bool end_of_input_ = false;
  bool refusing_ = false;  // input is discarded; closed when the reason has been read
  bool broken_ = false;
  bool awaiting_ = false;   // a request has not been answered: no other request starts
  bool answering_ = false;  // in answer_requests()
  Takeover takeover_;       // due when all output is sent
  // What happens later refers to it weakly: it exists as long as this object.
  std::shared_ptr<const RequestSource> source_of_requests_;
};

}  // namespace ktraced
