// SPDX-License-Identifier: BSD-2-Clause
// Standard output as the destination of a text stream.
#pragma once

#include <unistd.h>

#include "base/error.h"
#include "ctl/terminal/output.h"
#include "decoders/text/text_buffer.h"

namespace ktraced {

class Screen {
 public:
  // Minimum size of a write, in bytes.
  static constexpr size_t kLargePiece = 256U << 10;

  // Writes and empties `text` if it has `at_least` bytes. Fails with ExitCode::io.
  Result<> write(TextBuffer& text, size_t at_least) {
    if (text.size() < at_least || gone_) return {};
    auto written = write_all(STDOUT_FILENO, text.view());
    if (!written) return propagate(written);
    gone_ = !*written;
    text.clear();
    return {};
  }
  // True if the output has no reader any more.
  [[nodiscard]] bool gone() const { return gone_; }

 private:
  bool gone_ = false;
};

}  // namespace ktraced
