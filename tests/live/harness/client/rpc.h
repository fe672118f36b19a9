// SPDX-License-Identifier: BSD-2-Clause
// A bare connection to the control socket, as a third program would use it.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "harness/machine/process.h"

namespace ktraced::live {

class RpcConnection {
 public:
  // Throws if the socket has no listener.
  explicit RpcConnection(const std::string& socket);

  // Returns false if the socket has no listener.
  [[nodiscard]] static bool answers(const std::string& socket);

  // Returns false when the other end has closed.
  bool send_bytes(std::string_view bytes);
  // True if the other end has read all that was sent.
  [[nodiscard]] bool all_read() const;
  // Sends as much as the other end accepts at once.
  void send_some(std::string_view bytes);
  // Returns the next line without its newline; nothing at the end or after `limit`.
  std::optional<std::string> read_line(std::chrono::milliseconds limit = kNever);
  // Returns all that comes until the other end closes, or until `limit` has passed without
  // anything.
  std::string read_rest(std::chrono::milliseconds limit = kNever);
  // True once the other end has closed and everything was read.
  bool closed_within(std::chrono::milliseconds limit);
  // Sends nothing more: a reader of a stream requests its end.
  void shut_down_writing();
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
