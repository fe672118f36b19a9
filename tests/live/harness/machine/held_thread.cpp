// SPDX-License-Identifier: BSD-2-Clause
#include "harness/machine/held_thread.h"

#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "base/error.h"
#include "harness/machine/process.h"

namespace ktraced::live {
namespace {

pid_t find_thread(pid_t process, const std::string& name) {
  for (const auto& task :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process))) {
    std::string comm;
    std::getline(std::ifstream(task.path() / "comm"), comm);
    if (comm == name) return std::stoi(task.path().filename());
  }
  throw std::runtime_error(fmt::format("process {} has no thread {}", process, name));
}

}  // namespace

HeldThread::HeldThread(pid_t tid)
    : tid_(tid), leader_(process_status(tid, "Tgid") == std::to_string(tid)) {
  int status = 0;
  if (::ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0 ||
      ::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) != 0 ||
      ::waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
    throw std::runtime_error(fmt::format("cannot stop thread {}: {}", tid, errno_text(errno)));
}

HeldThread::HeldThread(pid_t process, const std::string& name)
    : HeldThread(find_thread(process, name)) {}

void HeldThread::step() {
  int status = 0;
  if (::ptrace(PTRACE_SYSCALL, tid_, nullptr, nullptr) != 0 ||
      ::waitpid(tid_, &status, __WALL) != tid_ || !WIFSTOPPED(status))
    throw std::runtime_error(
        fmt::format("thread {} does not continue: {}", tid_, errno_text(errno)));
}

void HeldThread::release() {
  if (tid_ == 0) return;
  // A killed thread stays until it is waited for; so does its process.
  if (::ptrace(PTRACE_DETACH, tid_, nullptr, nullptr) != 0 && !leader_)
    ::waitpid(tid_, nullptr, __WALL);
  tid_ = 0;
}

}  // namespace ktraced::live
