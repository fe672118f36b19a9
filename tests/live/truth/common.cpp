// SPDX-License-Identifier: BSD-2-Clause
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "truth.h"

namespace truth {

void die(std::string_view what) {
  std::fprintf(stderr, "truth: %.*s: %s\n", static_cast<int>(what.size()), what.data(),
               std::strerror(errno));
  std::exit(1);
}

long check(long result, std::string_view what) {
  if (result < 0) die(what);
  return result;
}

long number(Arguments arguments, size_t index, long fallback) {
  return index < arguments.size() ? std::stol(arguments[index]) : fallback;
}

pid_t gettid_now() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

int prio_now() {
  // Does not call getpriority, which is traced as a known call.
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes = {};
  check(::syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0), "sched_getattr");
  constexpr int kNiceZero = 120;
  return kNiceZero + attributes.nice;
}

std::string comm_now() {
  std::ifstream file("/proc/thread-self/comm");
  std::string comm;
  std::getline(file, comm);
  return comm;
}

long raw_syscall(long nr, const std::array<unsigned long, 6>& arguments) {
  long result;
  register unsigned long r10 asm("r10") = arguments[3];
  register unsigned long r8 asm("r8") = arguments[4];
  register unsigned long r9 asm("r9") = arguments[5];
  asm volatile("syscall"
               : "=a"(result)
               : "a"(nr), "D"(arguments[0]), "S"(arguments[1]), "d"(arguments[2]), "r"(r10),
                 "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

void pin_to_cpu(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  check(::sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
}

json reap(pid_t pid) {
  int status = 0;
  check(::waitpid(pid, &status, 0), "waitpid");
  return {{"pid", pid},
          {"exit_code", WIFEXITED(status) ? WEXITSTATUS(status) : 0},
          {"signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0},
          {"wait_status", status}};
}

}  // namespace truth
