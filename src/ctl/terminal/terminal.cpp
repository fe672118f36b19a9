// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/terminal/terminal.h"

#include <unistd.h>

#include <cstdlib>

namespace ktraced {

Colours Colours::of(int fd) {
  const char* no_color = std::getenv("NO_COLOR");  // any value but the empty one: no-color.org
  bool allowed = no_color == nullptr || *no_color == '\0';
  return Colours(allowed && ::isatty(fd) == 1);
}

}  // namespace ktraced
