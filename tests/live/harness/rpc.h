// SPDX-License-Identifier: BSD-2-Clause
// A bare connection to the control socket: what a third program would do.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "harness/process.h"

namespace ktraced::live {

class RpcConnection {
 public:
  // Throws if nobody listens there.
  explicit RpcConnection(const std::string& socket);

  // False: there is nobody to connect to.
  [[nodiscard]] static bool answers(const std::string& socket);

  // False when the other end has closed.
  bool send_bytes(std::string_view bytes);
  // As much as the other end takes at once.
  void send_some(std::string_view bytes);
  // The next line, without its newline; nothing at the end or after `limit`.
  std::optional<std::string> read_line(std::chrono::milliseconds limit = kNever);
  // True once the other end has closed and everything was read.
  bool closed_within(std::chrono::milliseconds limit);
  // Ends both directions at once, also for a thread that is sending.
  void shut_down();
  // Calls a method and returns the whole answer.
  nlohmann::json call(std::string_view method,
                      const nlohmann::json& params = nlohmann::json::object());

 private:
  bool receive(std::chrono::milliseconds limit);

  Fd fd_;
  std::string received_;
  bool at_end_ = false;
};

}  // namespace ktraced::live
