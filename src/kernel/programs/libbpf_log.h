// SPDX-License-Identifier: BSD-2-Clause
// Collects libbpf's messages.
#pragma once

#include <string>

namespace ktraced {

// While an object exists, it collects libbpf's messages in this thread, except debug messages.
// After the first one was created, libbpf prints nothing by itself: errors report what matters. At
// most one object at a time in each thread.
class LibbpfLog {
 public:
  LibbpfLog();
  LibbpfLog(const LibbpfLog&) = delete;
  LibbpfLog& operator=(const LibbpfLog&) = delete;
  ~LibbpfLog();
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace ktraced
