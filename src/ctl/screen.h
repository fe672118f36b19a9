// SPDX-License-Identifier: BSD-2-Clause
// Standard output as the end of a stream of text.
#pragma once

#include <unistd.h>

#include "base/error.h"
#include "ctl/output.h"
#include "decoders/text_buffer.h"

namespace ktraced {

class Screen {
 public:
  // Worth a write of its own, in bytes.
  static constexpr size_t kLargePiece = 256U << 10;

  // Writes and empties `text` if there is enough of it. Fails with ExitCode::io.
  Result<> write(TextBuffer& text, size_t at_least) {
    if (text.size() < at_least || gone_) return {};
    auto written = write_all(STDOUT_FILENO, text.view());
    if (!written) return pass_on(written);
    gone_ = !*written;
    text.clear();
    return {};
  }
  // Nobody reads it any more.
  [[nodiscard]] bool gone() const { return gone_; }

 private:
  bool gone_ = false;
};

}  // namespace ktraced
