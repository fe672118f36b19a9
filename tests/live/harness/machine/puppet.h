// SPDX-License-Identifier: BSD-2-Clause
// A process that a test controls step by step.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "base/fd.h"

namespace ktraced::live {

// A child of the test; the destructor ends it and waits for it. Throws if it cannot be created.
class Puppet {
 public:
  // Creates it with this process id, or any if it is 0. The id must be unused.
  explicit Puppet(pid_t pid = 0);
  Puppet(const Puppet&) = delete;
  Puppet& operator=(const Puppet&) = delete;
  ~Puppet();

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Returns when the action is done.
  void rename(std::string_view name) { order(name, 0); }
  // getpriority(0, number)
  void call(unsigned long number) { order({}, number); }

 private:
  void order(std::string_view name, unsigned long number);

  pid_t pid_ = 0;
  Fd socket_;
};

}  // namespace ktraced::live
