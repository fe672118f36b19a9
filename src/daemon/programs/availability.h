// SPDX-License-Identifier: BSD-2-Clause
// Why events cannot be recorded.
#pragma once

#include <map>
#include <string>

namespace ktraced {

// Which events are not available: this kernel does not support them, or attaching them has failed.
// Belongs to the main thread.
class Availability {
 public:
  using Reasons = std::map<std::string, std::string>;  // event or program → reason

  // `unsupported`: what this kernel does not support. Must outlive this.
  explicit Availability(const Reasons& unsupported) : unsupported_(unsupported) {}

  // False if this kernel does not support the program.
  [[nodiscard]] bool supports(const std::string& program) const {
    return !unsupported_.contains(program);
  }
  // Why the event is not available; null if it is.
  [[nodiscard]] const std::string* why_not(const std::string& event) const;
  // Why it could not be attached; null if nothing has failed.
  [[nodiscard]] const std::string* failure(const std::string& event) const;

  // Records a failure, unless one is recorded already. Returns true if it is new.
  bool note_failure(const std::string& event, const std::string& reason);
  void clear_failure(const std::string& event) { failures_.erase(event); }

  // All failures, to restore them if a change is undone.
  [[nodiscard]] const Reasons& failures() const { return failures_; }
  void restore_failures(Reasons failures) { failures_ = std::move(failures); }

 private:
  const Reasons& unsupported_;
  Reasons failures_;
};

}  // namespace ktraced
