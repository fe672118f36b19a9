// SPDX-License-Identifier: BSD-2-Clause
// Switches between two threads, and moves between CPUs.
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include "truth.h"

namespace truth {
namespace {

constexpr int kNiceA = 5;

struct Pipe {
  int ends[2];
  Pipe() { check(::pipe(ends), "pipe"); }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  void send() const {
    char byte = 0;
    check(::write(ends[1], &byte, 1), "write");
  }
  void receive() const {
    char byte;
    check(::read(ends[0], &byte, 1), "read");
  }
};

// Context switches of the calling thread so far, as the scheduler counts them.
struct SwitchCounts {
  long voluntary, involuntary;
};

SwitchCounts switch_counts() {
  rusage usage = {};
  check(::getrusage(RUSAGE_THREAD, &usage), "getrusage");
  return {usage.ru_nvcsw, usage.ru_nivcsw};
}

// A system call that marks in the trace where the counts were taken.
constexpr unsigned long kBeginMark = 0x1001, kEndMark = 0x1002;

void mark(unsigned long what) { raw_syscall(SYS_getpriority, {0, what, 0, 0, 0, 0}); }

json counted_since(const SwitchCounts& before) {
  SwitchCounts now = switch_counts();
  mark(kEndMark);
  return {{"tid", gettid_now()},
          {"prio", prio_now()},
          {"voluntary", now.voluntary - before.voluntary},
          {"involuntary", now.involuntary - before.involuntary}};
}

}  // namespace

// switch [ROUNDS [CPU]]: two threads on one CPU pass a byte back and forth ROUNDS times. Reports
// the scheduler's own counts. The calls getpriority(0, 0x1001) and (0, 0x1002) of each thread mark
// its beginning and end.
json switches(Arguments arguments) {
  long rounds = number(arguments, 0, 1000);
  int cpu = static_cast<int>(number(arguments, 1, 0));
  Pipe ping, pong;
  json a, b;
  std::thread first([&] {
    pin_to_cpu(cpu);
    check(::setpriority(PRIO_PROCESS, static_cast<id_t>(gettid_now()), kNiceA), "setpriority");
    mark(kBeginMark);
    SwitchCounts before = switch_counts();
    for (long i = 0; i < rounds; ++i) {
      ping.send();
      pong.receive();
    }
    a = counted_since(before);
  });
  std::thread second([&] {
    pin_to_cpu(cpu);
    mark(kBeginMark);
    SwitchCounts before = switch_counts();
    for (long i = 0; i < rounds; ++i) {
      ping.receive();
      pong.send();
    }
    b = counted_since(before);
  });
  first.join();
  second.join();
  return {{"rounds", rounds}, {"cpu", cpu}, {"threads", {a, b}}};
}

// migrate [MOVES]: a thread moves itself between two CPUs; reports each move.
json migrations(Arguments arguments) {
  cpu_set_t allowed;
  check(::sched_getaffinity(0, sizeof(allowed), &allowed), "sched_getaffinity");
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE && cpus.size() < 2; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  if (cpus.size() < 2) die("two CPUs are needed to move between");
  pin_to_cpu(cpus[0]);
  json moves = json::array();
  for (long i = 0; i < number(arguments, 0, 10); ++i) {
    int from = cpus[i % 2], to = cpus[(i + 1) % 2];
    pin_to_cpu(to);
    if (::sched_getcpu() != to) die("the move did not happen");
    moves.push_back({{"from", from}, {"to", to}});
  }
  return {{"tid", gettid_now()}, {"moves", moves}};
}

}  // namespace truth
