// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/commands/child_command.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace ktraced {

namespace {

struct Pipe {
  Fd read, write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0)
    return fail(ExitCode::os, "cannot make a pipe: {}", errno_text(errno));
  return Pipe{.read = Fd(fds[0]), .write = Fd(fds[1])};
}

// Runs in the child: only async-signal-safe functions are allowed here.
[[noreturn]] void run_child(int start, int failed, char** argv) {
  char go = 0;
  if (::read(start, &go, 1) != 1) ::_exit(0);  // the parent has given up
  std::signal(SIGPIPE, SIG_DFL);
  ::execvp(argv[0], argv);
  const int error = errno;
  static_cast<void>(::write(failed, &error, sizeof(error)));
  ::_exit(ChildCommand::kNotFound);
}

}  // namespace

Result<ChildCommand> ChildCommand::prepare(std::vector<std::string> words) {
  auto start = make_pipe();
  if (!start) return propagate(start);
  auto failed = make_pipe();
  if (!failed) return propagate(failed);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) return fail(ExitCode::os, "cannot make a process: {}", errno_text(errno));
  if (pid == 0) {
    start->write.reset();  // otherwise the child would wait for itself
    run_child(start->read.get(), failed->write.get(), argv.data());
  }
  Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  ChildCommand child(pid, std::move(pidfd), std::move(start->write), std::move(failed->read),
                     words.front());
  if (!child.pidfd_)
    return fail(ExitCode::os, "cannot watch process {}: {}", pid, errno_text(errno));
  return child;
}

ChildCommand::ChildCommand(ChildCommand&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      pidfd_(std::move(other.pidfd_)),
      start_(std::move(other.start_)),
      failed_(std::move(other.failed_)),
      name_(std::move(other.name_)) {}

ChildCommand::~ChildCommand() {
  if (pid_ == 0 || !start_) return;
  start_.reset();
  wait();
}

Result<> ChildCommand::go() {
  static_cast<void>(::write(start_.get(), "g", 1));
  start_.reset();
  int error = 0;
  ssize_t got = 0;
  while ((got = ::read(failed_.get(), &error, sizeof(error))) < 0 && errno == EINTR) {
  }
  if (got != sizeof(error)) return {};
  wait();
  const auto code = static_cast<ExitCode>(error == ENOENT ? kNotFound : kNotExecutable);
  return fail(code, "cannot run {}: {}", name_, errno_text(error));
}

void ChildCommand::terminate() const {
  if (pid_ != 0) ::kill(pid_, SIGTERM);
}

int ChildCommand::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace ktraced
