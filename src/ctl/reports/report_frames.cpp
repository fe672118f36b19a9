// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/reports/report_frames.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "base/fd.h"
#include "ctl/terminal/output.h"

namespace ktraced {
namespace {

// The longest time for one frame: meanwhile the client reads no events, and reacts to no signal.
constexpr std::chrono::seconds kFrameLimit{2};

// The child has only this thread: it must neither end threads nor close connections, so it does not
// run destructors.
[[noreturn]] void write_and_exit(const std::function<std::string()>& make, int fd) {
  bool good = false;
  try {
    good = write_all(fd, make()).value_or(false);
  } catch (...) {
    good = false;
  }
  ::_exit(good ? 0 : 1);
}

// Nothing if the text has not ended in time.
std::optional<std::string> read_to_end(int fd, std::chrono::steady_clock::duration limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  std::string text;
  std::array<char, 65536> bytes;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
    const int count = left.count() > 0 ? ::poll(&ready, 1, static_cast<int>(left.count())) : 0;
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    const ssize_t got = ::read(fd, bytes.data(), bytes.size());
    if (got > 0)
      text.append(bytes.data(), static_cast<size_t>(got));
    else if (got == 0 || errno != EINTR)
      return text;
  }
}

}  // namespace

Result<std::string> text_of_child(const std::function<std::string()>& make,
                                  std::chrono::steady_clock::duration limit) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(ExitCode::os, "cannot make a pipe: {}", errno_text(errno));
  Fd reading(ends[0]), writing(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return fail(ExitCode::os, "cannot start a process: {}", errno_text(errno));
  if (child == 0) write_and_exit(make, writing.get());
  writing.reset();
  auto text = read_to_end(reading.get(), limit);
  if (!text) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) return fail(ExitCode::os, "the process that makes the report has failed");
  return std::move(*text);
}

Result<std::unique_ptr<ReportFrames>> ReportFrames::every(std::chrono::nanoseconds interval) {
  auto screen = FullScreen::on(STDOUT_FILENO);
  if (!screen) return propagate(screen);
  return std::unique_ptr<ReportFrames>(new ReportFrames(std::move(*screen), interval));
}

// A frame that cannot be made is left out: the report at the end is another chance.
Refresh ReportFrames::refresh(std::function<std::string()> make) {
  return {.interval = interval_,
          .draw =
              [this, make = std::move(make)] {
                auto text = text_of_child(make, kFrameLimit);
                return !text || screen_.draw(std::move(*text)).value_or(false);
              },
          .signal_fd = screen_.signal_fd(),
          .on_signal = [this] { return screen_.on_signal().value_or(false); }};
}

}  // namespace ktraced
