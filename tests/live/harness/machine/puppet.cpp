// SPDX-License-Identifier: BSD-2-Clause
#include "harness/machine/puppet.h"

#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <stdexcept>

#include "base/error.h"

namespace ktraced::live {
namespace {

struct Order {
  char name[16];
  unsigned long number;  // 0: rename
};

// Runs in the child of a process with threads: makes only system calls.
[[noreturn]] void obey(int socket) {
  Order next{};
  while (::read(socket, &next, sizeof(next)) == ssize_t{sizeof(next)}) {
    if (next.number == 0)
      ::prctl(PR_SET_NAME, next.name);
    else
      ::syscall(SYS_getpriority, 0, next.number);
    if (::write(socket, "", 1) != 1) break;
  }
  ::_exit(0);
}

}  // namespace

Puppet::Puppet(pid_t pid) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::runtime_error("socketpair: " + errno_text(errno));
  socket_ = Fd(ends[0]);
  const Fd other(ends[1]);
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  if (pid != 0) {
    arguments.set_tid = reinterpret_cast<uintptr_t>(&pid);
    arguments.set_tid_size = 1;
  }
  pid_ = static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof(arguments)));
  if (pid_ < 0) throw std::runtime_error("clone3: " + errno_text(errno));
  if (pid_ == 0) {
    ::close(ends[0]);
    obey(ends[1]);
  }
}

Puppet::~Puppet() {
  socket_ = Fd();
  // Another child may have inherited the socket.
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Puppet::order(std::string_view name, unsigned long number) {
  Order next{.name = {}, .number = number};
  name.copy(next.name, sizeof(next.name) - 1);
  char done = 0;
  if (::write(socket_.get(), &next, sizeof(next)) != ssize_t{sizeof(next)} ||
      ::read(socket_.get(), &done, 1) != 1)
    throw std::runtime_error("a puppet does not act: " + errno_text(errno));
}

}  // namespace ktraced::live
