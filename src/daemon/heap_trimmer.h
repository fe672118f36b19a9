// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "daemon/event_loop.h"

namespace ktraced {

// Gives memory that is free in the heap back to the kernel, a moment after work that has used
// much of it. Belongs to the loop's thread.
class HeapTrimmer {
 public:
  // `loop` must outlive this.
  explicit HeapTrimmer(EventLoop& loop) : loop_(loop) {}

  // Such work is done: a connection has ended, a list was sent. Once a second at most memory is
  // given back.
  void note_use();

 private:
  EventLoop& loop_;
  EventSource timer_;
  bool due_ = false;
};

}  // namespace ktraced
