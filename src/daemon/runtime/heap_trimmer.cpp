// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/runtime/heap_trimmer.h"

#include <malloc.h>

#include <chrono>

namespace ktraced {

void HeapTrimmer::note_use() {
  if (due_) return;
  auto timer = loop_.add_timer(std::chrono::seconds(1), [this] {
    due_ = false;
    ::malloc_trim(0);
  });
  if (!timer) return;  // the next use tries again
  timer_ = std::move(*timer);
  due_ = true;
}

}  // namespace ktraced
