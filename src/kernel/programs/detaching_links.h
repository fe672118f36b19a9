// SPDX-License-Identifier: BSD-2-Clause
// Attachments that were detached but may still be active in the kernel.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "base/fd.h"

namespace ktraced {

// Links that are being detached. A pinned link outlives its pin and its descriptor by a grace
// period. A program that is attached again before the period ends would run twice for each hit.
class DetachingLinks {
 public:
  // `link` is about to be closed and unpinned.
  void note(const std::string& name, const Fd& link);
  // Are the links noted under this name gone? Does not wait.
  [[nodiscard]] bool gone(const std::string& name);
  // Returns when they are.
  void wait(const std::string& name);

 private:
  struct Detaching {
    uint32_t link_id = 0;
    std::chrono::steady_clock::time_point since;
    std::chrono::steady_clock::time_point last_seen;
  };
  std::multimap<std::string, Detaching> detaching_;
};

}  // namespace ktraced
