// SPDX-License-Identifier: BSD-2-Clause
// Names and process ids that change all the time.
#include <fcntl.h>
#include <linux/membarrier.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "truth.h"

namespace truth {
namespace {

void call_number(unsigned long number) { raw_syscall(SYS_getpriority, {0, number, 0, 0, 0, 0}); }

void rename_self(const std::string& name) { check(::prctl(PR_SET_NAME, name.c_str()), "prctl"); }

// A child with this process id, or any if it is 0.
pid_t fork_as(pid_t pid) {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  if (pid != 0) {
    arguments.set_tid = reinterpret_cast<uintptr_t>(&pid);
    arguments.set_tid_size = 1;
  }
  return static_cast<pid_t>(check(::syscall(SYS_clone3, &arguments, sizeof(arguments)), "clone3"));
}

// Returns when the kernel has freed the processes that have ended and been waited for, if it does
// what it is asked to: it waits for what runs under RCU, and they are freed just behind that.
void let_the_dead_be_freed() {
  for (int i = 0; i < 5; ++i)
    check(::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0), "membarrier");
}

void wait_for(pid_t pid) { check(::waitpid(pid, nullptr, 0), "waitpid"); }

}  // namespace

// call N: one call getpriority(0, N).
json call_once(Arguments arguments) {
  call_number(static_cast<unsigned long>(number(arguments, 0, 1)));
  return json::object();
}

// names ROUNDS: calls getpriority(0, N) as threads of many names, each reported as
// {"n","pid","comm"}. Each round forks a child, then two more with the same process id, of which
// the last executes another program. Each fork is reported as {"child","comm"}, with the child's
// initial name.
json changing_names(Arguments arguments) {
  json calls = json::array(), forks = json::array();
  const pid_t self = ::getpid();
  for (long round = 0; round < number(arguments, 0, 5); ++round) {
    const auto first = static_cast<unsigned long>(round) * 10;
    const std::string suffix = std::to_string(round), parent = "parent-" + suffix;
    rename_self(parent);
    call_number(first + 1);
    const pid_t child = fork_as(0);
    if (child == 0) {
      call_number(first + 2);
      rename_self("child-" + suffix);
      call_number(first + 3);
      ::_exit(0);
    }
    wait_for(child);
    if (fork_as(child) == 0) {
      rename_self("again-" + suffix);
      call_number(first + 4);
      ::_exit(0);
    }
    wait_for(child);
    if (fork_as(child) == 0) {
      call_number(first + 5);
      ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
      ::execl("/proc/self/exe", "truth", "call", std::to_string(first + 6).c_str(), nullptr);
      ::_exit(1);
    }
    wait_for(child);
    calls.push_back({{"n", first + 1}, {"pid", self}, {"comm", parent}});
    calls.push_back({{"n", first + 2}, {"pid", child}, {"comm", parent}});
    calls.push_back({{"n", first + 3}, {"pid", child}, {"comm", "child-" + suffix}});
    calls.push_back({{"n", first + 4}, {"pid", child}, {"comm", "again-" + suffix}});
    calls.push_back({{"n", first + 5}, {"pid", child}, {"comm", parent}});
    calls.push_back({{"n", first + 6}, {"pid", child}, {"comm", "exe"}});
    for (int i = 0; i < 3; ++i) forks.push_back({{"child", child}, {"comm", parent}});
  }
  rename_self("renamed-last");
  return {{"calls", calls}, {"forks", forks}};
}

// users USER: calls getpriority(0, N) with odd N as root and with even N as USER, whom it becomes
// by several calls, at last for good.
json changing_users(Arguments arguments) {
  const auto user = static_cast<unsigned>(number(arguments, 0, 0));
  constexpr unsigned kSame = ~0U, kSame16 = 0xffff, kSetreuid16 = 70, kSetresuid32 = 208;
  call_number(1);
  check(::syscall(SYS_setresuid, user, kSame, kSame), "setresuid");
  call_number(2);
  check(::syscall(SYS_setreuid, 0, kSame), "setreuid");
  call_number(3);
  if (ia32_call(kSetresuid32, {user, kSame, kSame, 0, 0}) != 0) die("setresuid32");
  call_number(4);
  if (ia32_call(kSetreuid16, {0, kSame16, 0, 0, 0}) != 0) die("setreuid16");
  call_number(5);
  check(::syscall(SYS_setuid, user), "setuid");
  call_number(6);
  if (::syscall(SYS_setuid, 0) == 0) die("it is root again");
  call_number(8);
  return json::object();
}

// reuse ROUNDS: in each round a child ends, and another one with its process id and a child of that
// call getpriority(0, N) when the first one is freed, with two numbers in a row: 1 and 2, 3 and 4.
json reused_ids(Arguments arguments) {
  const long rounds = number(arguments, 0, 5);
  for (long round = 0; round < rounds; ++round) {
    const auto first = static_cast<unsigned long>(round) * 2;
    const pid_t ended = fork_as(0);
    if (ended == 0) ::_exit(0);
    wait_for(ended);
    if (fork_as(ended) == 0) {
      let_the_dead_be_freed();
      call_number(first + 1);
      const pid_t child = fork_as(0);
      if (child == 0) {
        call_number(first + 2);
        ::_exit(0);
      }
      wait_for(child);
      ::_exit(0);
    }
    wait_for(ended);
  }
  return {{"calls", rounds * 2}};
}

}  // namespace truth
