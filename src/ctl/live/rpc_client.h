// SPDX-License-Identifier: BSD-2-Clause
// The client's end of the control protocol.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

// One connection to the daemon; calls are made one after the other. Move-only.
class RpcClient {
 public:
  // Longer answers are refused.
  static constexpr size_t kMaxAnswerBytes = 64U << 20;

  // ExitCode::unavailable if nothing listens at `path` or the daemon has another protocol version,
  // no_permission if this user may not connect. No call waits longer than `timeout` for the daemon.
  static Result<RpcClient> connect(const std::string& path,
                                   std::chrono::seconds timeout = std::chrono::seconds(60));

  // From now on strings in results are converted by printable(), for output on a terminal.
  void show_printable() { printable_ = true; }
  // Sets how long call() waits for an answer.
  void set_answer_timeout(std::chrono::seconds timeout);

  // Gets the daemon's progress during a request: the `params` of its "progress" notifications.
  using OnProgress = std::function<void(const nlohmann::json& params)>;

  // Returns the result of a method, or the daemon's error.
  Result<nlohmann::json> call(std::string_view method,
                              const nlohmann::json& params = nlohmann::json::object(),
                              const OnProgress& on_progress = {});

  // Another descriptor of the connection: its shutdown() ends a call() of another thread.
  [[nodiscard]] Fd duplicate() const;

  // Closes the connection, and returns when the daemon has closed it too.
  void close() &&;

  // Releases the connection, with the bytes already read after the last answer, and without a read
  // timeout.
  struct Connection {
    Fd socket;
    std::string unread;
  };
  [[nodiscard]] Connection release() &&;

 private:
  explicit RpcClient(Fd socket) : socket_(std::move(socket)) {}
  Result<> check_protocol(const std::string& path);
  Result<> send(std::string_view line);
  Result<std::string> receive_line();
  Result<nlohmann::json> receive_answer(std::string_view method, const OnProgress& on_progress);

  Fd socket_;
  std::string unread_;
  uint64_t last_id_ = 0;
  bool printable_ = false;
};

}  // namespace ktraced
