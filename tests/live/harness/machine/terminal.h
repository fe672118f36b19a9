// SPDX-License-Identifier: BSD-2-Clause
// A terminal for the output of a command.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "base/fd.h"
#include "harness/machine/process.h"

namespace ktraced::live {

// A private terminal.
class Terminal {
 public:
  Terminal() : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)) {
    char name[64] = {};
    if (!master_ || ::grantpt(master_.get()) != 0 || ::unlockpt(master_.get()) != 0 ||
        ::ptsname_r(master_.get(), name, sizeof(name)) != 0)
      throw std::runtime_error("no pseudo-terminal: is /dev/pts mounted?");
    name_ = name;
    other_side_ = Fd(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));  // keeps what is written
  }
  // Runs the command with this descriptor on the terminal.
  [[nodiscard]] Command on_terminal(const Command& command, int fd = STDERR_FILENO) const {
    const std::string script =
        "TERM=xterm; export TERM; exec \"$@\" " + std::to_string(fd) + ">" + name_;
    Command words = {"sh", "-c", script, "sh"};
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }
  // The kernel's side of it, for its settings.
  [[nodiscard]] int fd() const { return other_side_.get(); }
  // All that was written to it so far.
  const std::string& text() {
    char bytes[4096];
    for (ssize_t got; (got = ::read(master_.get(), bytes, sizeof(bytes))) > 0;)
      text_.append(bytes, static_cast<size_t>(got));
    return text_;
  }

 private:
  Fd master_, other_side_;
  std::string name_, text_;
};

}  // namespace ktraced::live
