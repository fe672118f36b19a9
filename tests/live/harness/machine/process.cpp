// SPDX-License-Identifier: BSD-2-Clause
#include "harness/machine/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "base/error.h"

namespace ktraced::live {
namespace {

struct Pipe {
  Fd read, write;
};

Pipe make_pipe() {
  std::array<int, 2> ends = {};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2: " + errno_text(errno));
  return {Fd(ends[0]), Fd(ends[1])};
}

// In the child: never returns.
[[noreturn]] void become(const Command& command, int in, int out, int err) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // no process outlives the tests
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  ::_exit(127);
}

}  // namespace

Process::Process(const Command& command, LineSink sink) {
  Pipe in = make_pipe(), out = make_pipe(), err = make_pipe();
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork: " + errno_text(errno));
  if (pid_ == 0) become(command, in.read.get(), out.write.get(), err.write.get());
  input_ = std::move(in.write);
  output_ = std::move(out.read);
  errors_ = std::move(err.read);
  readers_.emplace_back(
      [this, sink = std::move(sink)] { read_all(output_.get(), out_text_, sink); });
  readers_.emplace_back([this] { read_all(errors_.get(), err_text_, nullptr); });
}

Process::~Process() {
  if (running()) {
    send(SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

void Process::read_all(int fd, std::string& into, const LineSink& sink) {
  std::vector<char> buffer(1 << 16);
  std::string rest;
  for (ssize_t got; (got = ::read(fd, buffer.data(), buffer.size())) > 0;) {
    std::string_view bytes(buffer.data(), static_cast<size_t>(got));
    if (!sink) {
      std::lock_guard lock(mutex_);
      into += bytes;
      continue;
    }
    rest += bytes;
    size_t begin = 0;
    for (size_t end; (end = rest.find('\n', begin)) != std::string::npos; begin = end + 1)
      sink(std::string_view(rest).substr(begin, end - begin));
    rest.erase(0, begin);
  }
  if (!rest.empty()) sink(rest);
}

bool Process::try_reap() {
  int status = 0;
  if (!wait_status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) wait_status_ = status;
  return wait_status_.has_value();
}

bool Process::running() { return !try_reap(); }

bool Process::asleep() const {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid_));
  std::string line;
  std::getline(stat, line);
  const size_t after_name = line.rfind(") ");
  return after_name != std::string::npos && line.substr(after_name + 2).starts_with("S ");
}

void Process::write_input(std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(input_.get(), text.data(), text.size());
    if (written < 0) throw std::runtime_error("write: " + errno_text(errno));
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void Process::send(int signal) const {
  if (!wait_status_) ::kill(pid_, signal);
}

Finished Process::wait() {
  if (!eventually([this] { return try_reap(); })) {
    send(SIGKILL);
    throw std::runtime_error(
        fmt::format("process {} did not end; it wrote: {}{}", pid_, out(), err()));
  }
  readers_.clear();
  int status = *wait_status_;
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
          .out = out(),
          .err = err()};
}

std::string Process::out() const {
  std::lock_guard lock(mutex_);
  return out_text_;
}

std::string Process::err() const {
  std::lock_guard lock(mutex_);
  return err_text_;
}

Finished run(const Command& command, std::string_view input) {
  Process process(command);
  process.write_input(input);
  process.close_input();
  return process.wait();
}

std::string process_status(pid_t pid, const std::string& key) {
  const std::string begin = key + ":\t";
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(begin)) return line.substr(begin.size());
  return "";
}

size_t open_descriptors(pid_t pid) {
  return static_cast<size_t>(
      std::ranges::distance(std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid)),
                            std::filesystem::directory_iterator()));
}

long cpu_ticks(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text(std::istreambuf_iterator<char>(file), {});
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  long user = 0, system = 0;
  fields >> user >> system;
  return user + system;
}

bool eventually(const std::function<bool()>& done) {
  auto deadline = std::chrono::steady_clock::now() + kNever;
  for (Milliseconds pause = 1ms;; pause = std::min<Milliseconds>(pause * 2, 50ms)) {
    if (done()) return true;
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(pause);
  }
}

testing::AssertionResult reaches(const std::function<uint64_t()>& counter, uint64_t expected) {
  uint64_t now = 0;
  static_cast<void>(eventually([&] { return (now = counter()) >= expected; }));
  if (now == expected) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "is " << now << ", expected " << expected;
}

}  // namespace ktraced::live
