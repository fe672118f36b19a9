// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/runtime/log_writer.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "daemon/runtime/log_format.h"

namespace ktraced {
namespace {

constexpr int kPollMs = 100;
constexpr std::chrono::seconds kFinishLimit{1};

// True if `fd` can be written to without blocking within the timeout.
bool wait_until_writable(int fd, int timeout_ms) {
  pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
  return ::poll(&ready, 1, timeout_ms) > 0;
}

}  // namespace

struct LogWriter::State {
  State(int to, size_t limit) : fd(to), max_bytes(limit) {}

  void run();
  // Takes the queued lines, and a note on the lines dropped after them.
  std::string take(std::unique_lock<std::mutex>& lock);
  // False: the writer has to end, and there is no reader.
  bool put(std::string_view text);

  const int fd;
  const size_t max_bytes;
  std::mutex mutex;  // guards the rest
  std::condition_variable changed;
  std::string queue;
  uint64_t dropped = 0;  // lines dropped after the queued ones
  bool ending = false;
  bool ended = false;
};

std::string LogWriter::State::take(std::unique_lock<std::mutex>& lock) {
  changed.wait(lock, [this] { return ending || !queue.empty(); });
  std::string text = std::exchange(queue, {});
  if (dropped > 0)
    text += fmt::format("ktraced: {} lines of the log are lost: standard error was not read\n",
                        std::exchange(dropped, 0));
  return text;
}

bool LogWriter::State::put(std::string_view text) {
  while (!text.empty()) {
    bool end = false;
    {
      std::lock_guard lock(mutex);
      end = ending;
    }
    if (!wait_until_writable(fd, end ? 0 : kPollMs)) {
      if (end) return false;
      continue;
    }
    // A pipe that is ready accepts this much at once.
    const ssize_t written = ::write(fd, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
    // The pipe is closed or the disk is full: these lines are lost. Later lines are tried again.
    if (written < 0 && errno != EINTR && errno != EAGAIN) return true;
  }
  return true;
}

void LogWriter::State::run() {
  std::unique_lock lock(mutex);
  for (bool read = true; read && (!ending || !queue.empty());) {
    const std::string text = take(lock);
    lock.unlock();
    read = put(text);
    lock.lock();
  }
  ended = true;
  changed.notify_all();
}

LogWriter::LogWriter(int fd, size_t max_bytes) : state_(std::make_shared<State>(fd, max_bytes)) {
  std::thread thread([state = state_] { state->run(); });
  ::pthread_setname_np(thread.native_handle(), "ktraced-log");
  // Another process that shares the pipe may fill it just before a write. The daemon does not wait
  // for that.
  thread.detach();
}

LogWriter::~LogWriter() {
  std::unique_lock lock(state_->mutex);
  state_->ending = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, kFinishLimit, [this] { return state_->ended; });
}

void LogWriter::write(std::string_view lines) {
  std::lock_guard lock(state_->mutex);
  if (state_->dropped > 0 || state_->queue.size() + lines.size() > state_->max_bytes) {
    state_->dropped += static_cast<uint64_t>(std::ranges::count(lines, '\n'));
    return;
  }
  state_->queue += lines;
  state_->changed.notify_all();
}

namespace {

// Formats lines as spdlog's own sinks do.
class LogSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  LogSink() : colours_(::isatty(STDERR_FILENO) == 1), writer_(STDERR_FILENO) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    std::string line(text.data(), text.size());
    if (colours_ && message.color_range_end > message.color_range_start) {
      line.insert(message.color_range_end, "\033[m");
      line.insert(message.color_range_start, colour_of(message.level));
    }
    writer_.write(line);
  }
  void flush_() override {}

  static const char* colour_of(spdlog::level::level_enum level) {
    switch (level) {
      case spdlog::level::critical:
      case spdlog::level::err:
        return "\033[31m\033[1m";
      case spdlog::level::warn:
        return "\033[33m\033[1m";
      case spdlog::level::info:
        return "\033[32m";
      default:
        return "\033[36m";
    }
  }

  bool colours_;
  LogWriter writer_;
};

}  // namespace

LogOutput::LogOutput() {
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("ktraced", std::make_shared<LogSink>()));
  spdlog::set_formatter(log_formatter());
}

LogOutput::~LogOutput() {
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("ktraced", std::make_shared<spdlog::sinks::null_sink_mt>()));
}

void fill_standard_descriptors() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      static_cast<void>(::open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY));
}

}  // namespace ktraced
