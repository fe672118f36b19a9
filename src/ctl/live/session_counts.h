// SPDX-License-Identifier: BSD-2-Clause
// What the daemon counts of the session of a stream.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace ktraced {

// The counts begin at zero with the session. The stream does not contain them.
class SessionCounts {
 public:
  SessionCounts(std::string socket, std::string session)
      : socket_(std::move(socket)), session_(std::move(session)) {}

  // Asks the daemon. Without an answer, for instance because the session has ended, the counts stay
  // as they are.
  void ask();
  // False: the daemon has not answered yet.
  [[nodiscard]] bool known() const { return known_; }
  // Hits that the kernel has missed while the session had the event on, by event, without zeros.
  [[nodiscard]] const std::map<std::string, uint64_t>& missed() const { return missed_; }

 private:
  std::string socket_, session_;
  bool known_ = false;
  std::map<std::string, uint64_t> missed_;
};

}  // namespace ktraced
