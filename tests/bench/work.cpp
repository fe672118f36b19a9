// SPDX-License-Identifier: BSD-2-Clause
// Repeats one kind of work and measures the cost of one turn:
//
//   bench_work getppid|getppid-few|pingpong|procfile|read [empty|clock TRACEPOINT,…]
//   bench_work hold empty|clock TRACEPOINT,…
//   bench_work threads COUNT
//   bench_work compete getppid|files TASKS SECONDS
//   bench_work serve getppid|pingpong|procfile|read CPU TRACEPOINT,…
//
// It prints the cycles of the time stamp counter for one turn: the median of several long
// stretches, with pauses in between. So it includes regular work of the kernel (ticks, RCU), and
// leaves out stretches with rare work, even of a second. In a virtual machine that counts
// instructions, a cycle is an instruction.
//
// With `empty`, BPF programs that do nothing are attached to the named raw tracepoints during the
// work: that is the cost of the hooks alone. With `clock` the programs read the clock too: that is
// the floor of tracing with BPF. `hold` does no work: it prints "ready" and keeps the programs
// attached until it is ended. `threads` prints "ready" when that many threads sleep, until it is
// ended. `compete` repeats the work in several processes on CPU 0, and prints nothing.
//
// `serve` times single stretches on one CPU. It reads lines "PROGRAM TURNS" until standard input
// ends. For each it attaches the program (nothing, empty, clock or ringbuf: see hook_programs.h),
// does a tenth of the turns for the caches, times the turns, detaches the program, and prints
// "NANOSECONDS RECORDS": RECORDS are those of ringbuf, of all CPUs and of the timed turns only.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "hook_programs.h"

namespace {

constexpr size_t kStretches = 11;
constexpr unsigned kPauseUs = 200'000;

// A kind of work: runs the given number of turns.
struct Work {
  unsigned turns;  // of a stretch: some ten million instructions, several ticks
  void (*run)(unsigned turns);
};

void getppid_calls(unsigned turns) {
  for (unsigned i = 0; i < turns; ++i) syscall(SYS_getppid);
}

// Two ends of two pipes: a child copies what is written into one to the other.
struct Echo {
  int to = -1;
  int from = -1;
};

void echo_until_closed(int from, int to) {
  char byte = 0;
  while (read(from, &byte, 1) == 1) {
    if (write(to, &byte, 1) != 1) break;
  }
  _exit(0);
}

// Started once, before any measurement. The child ends when this process ends and closes the pipe.
const Echo& echo() {
  static const Echo started = [] {
    std::array<int, 2> there{};
    std::array<int, 2> back{};
    if (pipe(there.data()) != 0 || pipe(back.data()) != 0) give_up("pipe");
    const pid_t child = fork();
    if (child < 0) give_up("fork");
    if (child == 0) {
      close(there[1]);
      close(back[0]);
      echo_until_closed(there[0], back[1]);
    }
    close(there[0]);
    close(back[1]);
    return Echo{there[1], back[0]};
  }();
  return started;
}

void ping_pong(unsigned turns) {
  const Echo& other = echo();
  char byte = 0;
  for (unsigned i = 0; i < turns; ++i) {
    if (write(other.to, &byte, 1) != 1 || read(other.from, &byte, 1) != 1) give_up("echo");
  }
}

void open_and_close(unsigned turns) {
  for (unsigned i = 0; i < turns; ++i) {
    const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (file < 0) give_up("/proc/self/stat");
    close(file);
  }
}

void use_files(unsigned turns) {
  std::array<char, 512> text{};
  struct stat status{};
  for (unsigned i = 0; i < turns; ++i) {
    const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, text.data(), text.size()) <= 0) give_up("/proc/self/stat");
    close(file);
    if (stat("/proc/self/stat", &status) != 0) give_up("/proc/self/stat");
  }
}

void read_bytes(unsigned turns) {
  static const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  char byte = 0;
  for (unsigned i = 0; i < turns; ++i)
    if (read(zeros, &byte, 1) != 1) give_up("/dev/zero");
}

Work work_called(const std::string& name) {
  if (name == "getppid") return {.turns = 20000, .run = getppid_calls};
  // For stream rings of several sessions, which must not be emptied meanwhile.
  if (name == "getppid-few") return {.turns = 2000, .run = getppid_calls};
  if (name == "pingpong") return {.turns = 1000, .run = ping_pong};
  if (name == "procfile") return {.turns = 1000, .run = open_and_close};
  if (name == "files") return {.turns = 500, .run = use_files};
  if (name == "read") return {.turns = 20000, .run = read_bytes};
  std::fprintf(
      stderr,
      "bench_work: knows getppid, getppid-few, pingpong, procfile, files and read, not %s\n",
      name.c_str());
  std::exit(1);
}

// Keeps the programs attached as long as the process lives.
void attach_programs(const std::string& name, const std::string& tracepoints) {
  const HookProgram program = hook_program_called(name);
  if (program == HookProgram::ringbuf) {
    std::fprintf(stderr, "bench_work: only serve has the ring that the program ringbuf needs\n");
    std::exit(1);
  }
  static HookPrograms programs(program, tracepoints, nullptr);
  programs.attach();
}

double cycles_of_a_turn(const Work& work) {
  std::vector<double> stretches;
  work.run(work.turns);  // once for the caches and the slow first times
  for (size_t i = 0; i < kStretches; ++i) {
    usleep(kPauseUs);
    const auto begin = __rdtsc();
    work.run(work.turns);
    stretches.push_back(static_cast<double>(__rdtsc() - begin) / work.turns);
  }
  const auto middle = stretches.begin() + kStretches / 2;
  std::nth_element(stretches.begin(), middle, stretches.end());
  return *middle;
}

// Turns of equal length would begin at the same place of each slice of a counted machine.
void wait_a_little(unsigned& random) {
  random = random * 1103515245 + 12345;
  for (unsigned i = random >> 27; i != 0; --i) asm volatile("");
}

uint64_t nanoseconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

double seconds_now() { return static_cast<double>(nanoseconds_now()) / 1e9; }

void stay_on_cpu(unsigned cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  if (sched_setaffinity(0, sizeof(one), &one) != 0)
    give_up("cannot stay on CPU " + std::to_string(cpu));
}

[[noreturn]] void repeat_until(const Work& work, unsigned random, double end) {
  stay_on_cpu(0);
  while (seconds_now() < end) {
    for (unsigned i = 0; i < work.turns / 100; ++i) {
      work.run(1);
      wait_a_little(random);
    }
  }
  _exit(0);
}

int compete(const Work& work, unsigned tasks, int seconds) {
  const double end = seconds_now() + seconds;
  for (unsigned i = 0; i < tasks; ++i) {
    const pid_t child = fork();
    if (child < 0) give_up("fork");
    if (child == 0) repeat_until(work, i, end);
  }
  int failed = 0;
  int status = 0;
  while (wait(&status) > 0) failed |= status;
  return failed != 0 ? 1 : 0;
}

// Times the stretches that standard input asks for, until it ends.
int serve(const Work& work, unsigned cpu, const std::string& tracepoints) {
  stay_on_cpu(cpu);
  RecordRing ring;
  std::map<HookProgram, HookPrograms> all_programs;
  std::string name;
  unsigned turns = 0;
  while (std::cin >> name >> turns) {
    const HookProgram program = hook_program_called(name);
    HookPrograms& programs =
        all_programs.try_emplace(program, program, tracepoints, &ring).first->second;
    programs.attach();
    work.run(turns / 10);
    ring.discard();
    const uint64_t records = ring.records();
    const uint64_t begin = nanoseconds_now();
    work.run(turns);
    const uint64_t end = nanoseconds_now();
    const uint64_t new_records = ring.records() - records;
    programs.detach();
    std::cout << end - begin << ' ' << new_records << std::endl;
  }
  return 0;
}

[[noreturn]] void stay_ready() {
  std::puts("ready");
  std::fflush(stdout);
  while (true) pause();
}

int sleep_forever(void* /*unused*/) {
  while (true) syscall(SYS_pause);
}

// Threads with stacks of a page: pthreads would need four, and a thread-local area.
void start_threads(unsigned count) {
  constexpr size_t kStack = 4096;
  char* stacks = static_cast<char*>(mmap(nullptr, count * kStack, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (stacks == MAP_FAILED) give_up("stacks");
  constexpr int kThread =
      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  for (unsigned i = 0; i < count; ++i) {
    if (clone(sleep_forever, stacks + (i + 1) * kStack, kThread, nullptr) < 0) give_up("a thread");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && !std::strcmp(argv[1], "hold")) {
    attach_programs(argv[2], argv[3]);
    stay_ready();
  }
  if (argc == 3 && !std::strcmp(argv[1], "threads")) {
    start_threads(static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)));
    stay_ready();
  }
  if (argc == 5 && !std::strcmp(argv[1], "compete"))
    return compete(work_called(argv[2]), static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10)),
                   std::atoi(argv[4]));
  if (argc == 5 && !std::strcmp(argv[1], "serve"))
    return serve(work_called(argv[2]), static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10)),
                 argv[4]);
  const Work work = work_called(argc > 1 ? argv[1] : "");
  if (argc == 4) attach_programs(argv[2], argv[3]);
  std::printf("%.0f\n", cycles_of_a_turn(work));
  return 0;
}
