// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/terminal/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace ktraced {

bool has_screen(int fd) {
  const char* kind = std::getenv("TERM");
  return ::isatty(fd) == 1 && kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
}

Colours Colours::of(int fd) {
  const char* no_color = std::getenv("NO_COLOR");  // any value but the empty one: no-color.org
  bool allowed = no_color == nullptr || *no_color == '\0';
  if (::isatty(fd) != 1) return Colours(false);
  winsize size{};
  const bool known = ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
  return Colours(allowed, known ? size.ws_col : SIZE_MAX);
}

}  // namespace ktraced
