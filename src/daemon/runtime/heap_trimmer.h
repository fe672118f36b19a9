// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "daemon/runtime/event_loop.h"

namespace ktraced {

// Returns free heap memory to the kernel, shortly after work that has used much of it. Belongs to
// the loop's thread.
class HeapTrimmer {
 public:
  // `loop` must outlive this.
  explicit HeapTrimmer(EventLoop& loop) : loop_(loop) {}

  // Call it after work that used much memory: a connection has ended, a list was sent. Memory is
  // returned once a second at most.
  void note_use();

 private:
  EventLoop& loop_;
  EventSource timer_;
  bool due_ = false;
};

}  // namespace ktraced
