// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/log/log_writer.h"

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

#include "daemon/log/journal.h"
#include "daemon/log/log_format.h"

namespace ktraced {
namespace {

constexpr int kPollMs = 100;
constexpr std::chrono::seconds kFinishLimit{1};

// True if `fd` can be written to without blocking within the timeout.
bool wait_until_writable(int fd, int timeout_ms) {
  pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
  return ::poll(&ready, 1, timeout_ms) > 0;
}

class DescriptorTarget final : public LogTarget {
 public:
  explicit DescriptorTarget(int fd) : fd_(fd) {}

  bool try_put(const std::string& record, int timeout_ms) override {
    while (written_ < record.size()) {
      if (!wait_until_writable(fd_, timeout_ms)) return false;
      // A pipe that is ready accepts this much at once.
      const size_t size = std::min<size_t>(record.size() - written_, PIPE_BUF);
      const ssize_t written = ::write(fd_, record.data() + written_, size);
      if (written > 0) written_ += static_cast<size_t>(written);
      // The pipe is closed or the disk is full: this line is lost. Later lines are tried again.
      if (written < 0 && errno != EINTR && errno != EAGAIN) break;
    }
    written_ = 0;
    return true;
  }
  [[nodiscard]] std::string lost_record(uint64_t lost) const override {
    return fmt::format("ktraced: {} lines of the log are lost: standard error was not read\n",
                       lost);
  }

 private:
  const int fd_;
  size_t written_ = 0;  // of the current record
};

}  // namespace

struct LogWriter::State {
  State(std::unique_ptr<LogTarget> to, size_t limit) : target(std::move(to)), max_bytes(limit) {}

  void run();
  // Takes the queued records, and one on those dropped after them.
  std::vector<std::string> take(std::unique_lock<std::mutex>& lock);
  // False: the writer has to end, and there is no reader.
  bool put(const std::vector<std::string>& records);
  bool must_end();

  const std::unique_ptr<LogTarget> target;
  const size_t max_bytes;
  std::mutex mutex;  // guards the rest
  std::condition_variable changed;
  std::vector<std::string> queue;
  size_t queued_bytes = 0;
  uint64_t dropped = 0;  // records dropped after the queued ones
  bool ending = false;
  bool ended = false;
};

std::vector<std::string> LogWriter::State::take(std::unique_lock<std::mutex>& lock) {
  changed.wait(lock, [this] { return ending || !queue.empty(); });
  std::vector<std::string> records = std::exchange(queue, {});
  queued_bytes = 0;
  if (dropped > 0) records.push_back(target->lost_record(std::exchange(dropped, 0)));
  return records;
}

bool LogWriter::State::must_end() {
  std::lock_guard lock(mutex);
  return ending;
}

bool LogWriter::State::put(const std::vector<std::string>& records) {
  for (const std::string& record : records)
    for (bool end = must_end(); !target->try_put(record, end ? 0 : kPollMs); end = must_end())
      if (end) return false;
  return true;
}

void LogWriter::State::run() {
  std::unique_lock lock(mutex);
  for (bool read = true; read && (!ending || !queue.empty());) {
    const std::vector<std::string> records = take(lock);
    lock.unlock();
    read = put(records);
    lock.lock();
  }
  ended = true;
  changed.notify_all();
}

LogWriter::LogWriter(std::unique_ptr<LogTarget> target, size_t max_bytes, LostLines lost)
    : state_(std::make_shared<State>(std::move(target), max_bytes)), lost_(std::move(lost)) {
  std::thread thread([state = state_] { state->run(); });
  ::pthread_setname_np(thread.native_handle(), "ktraced-log");
  // Another process that shares the pipe may fill it just before a write. The daemon does not wait
  // for that.
  thread.detach();
}

LogWriter::LogWriter(int fd, size_t max_bytes, LostLines lost)
    : LogWriter(std::make_unique<DescriptorTarget>(fd), max_bytes, std::move(lost)) {}

LogWriter::~LogWriter() {
  std::unique_lock lock(state_->mutex);
  state_->ending = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, kFinishLimit, [this] { return state_->ended; });
}

void LogWriter::write(std::string record) {
  std::lock_guard lock(state_->mutex);
  if (state_->dropped > 0 || state_->queued_bytes + record.size() > state_->max_bytes) {
    ++state_->dropped;
    if (lost_) ++*lost_;
    return;
  }
  state_->queued_bytes += record.size();
  state_->queue.push_back(std::move(record));
  state_->changed.notify_all();
}

namespace {

// Formats lines as spdlog's own sinks do.
class LogSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit LogSink(LostLines lost)
      : colours_(::isatty(STDERR_FILENO) == 1),
        writer_(STDERR_FILENO, LogWriter::kQueueBytes, std::move(lost)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    std::string line(text.data(), text.size());
    if (colours_ && message.color_range_end > message.color_range_start) {
      line.insert(message.color_range_end, "\033[m");
      line.insert(message.color_range_start, colour_of(message.level));
    }
    writer_.write(std::move(line));
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
  const std::shared_ptr<spdlog::sinks::sink> sink =
      is_journal(STDERR_FILENO) ? make_journal_sink(lost_) : std::make_shared<LogSink>(lost_);
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("ktraced", sink));
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
