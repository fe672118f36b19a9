// SPDX-License-Identifier: BSD-2-Clause
// Threads and processes with odd names, how they end, and signals to them.
#include <sched.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <ctime>
#include <mutex>
#include <tuple>

#include "actions.h"

namespace noise {
namespace {

constexpr const char* kProgram = "/bin/true";

// More often than others the name of the program whose events the tests count.
constexpr std::array kNames = std::to_array<const char*>({
    "truth",       "truth",        "truth",           "noise",
    "ktraced",     "sh",           "kworker/0:1",     "",
    " ",           "a b",          "(x) R 1 2",       "\"quoted\\\"",
    "tab\tline\n", "\xff\xfe\x80", "fifteen-letters", "a-name-far-too-long",
    "%s%n",        "$(touch x)",   "{\"comm\":1}",    "é",
});

// Those that a child handles, ignores, and stops or goes on at.
constexpr std::array kSignals = {SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGSTOP, SIGCONT, SIGCHLD};

void take_name(Dice& dice) { std::ignore = ::prctl(PR_SET_NAME, dice.pick(kNames)); }

void pause_for(long microseconds) {
  const timespec time = {0, microseconds * 1000};
  std::ignore = ::nanosleep(&time, nullptr);
}

void move_to_one_cpu(Dice& dice) {
  cpu_set_t allowed, one;
  const uint64_t skipped = dice.below(CPU_SETSIZE);
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  uint64_t left = skipped % static_cast<uint64_t>(CPU_COUNT(&allowed));
  for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || left-- > 0) continue;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    std::ignore = ::sched_setaffinity(0, sizeof(one), &one);
    return;
  }
}

// A few system calls of a task with a new name.
void live_shortly(Dice& dice) {
  take_name(dice);
  for (uint64_t left = dice.below(20); left > 0; --left)
    std::ignore = ::getpriority(PRIO_PROCESS, static_cast<id_t>(left));
}

[[noreturn]] void become(const char* program, const char* name) {
  const std::array<const char*, 4> arguments = {name, "an argument", "\"another\"", nullptr};
  ::execv(program, const_cast<char* const*>(arguments.data()));
  ::_exit(127);
}

// Ends by itself within a second, if no one kills it before.
int linger(Dice dice) {
  for (uint64_t left = dice.below(50); left > 0; --left) {
    live_shortly(dice);
    pause_for(static_cast<long>(dice.between(1'000, 20'000)));
  }
  return static_cast<int>(dice.below(256));
}

int wait_for_signals() {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  for (const int signal : {SIGUSR1, SIGUSR2, SIGALRM, SIGRTMIN + 2})
    std::ignore = ::sigaction(signal, &action, nullptr);
  for (;;) std::ignore = ::pause();
}

}  // namespace

void run_thread(Dice& dice, World&) {
  std::jthread([&dice] {
    live_shortly(dice);
    move_to_one_cpu(dice);
    std::ignore = ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)),
                                static_cast<int>(dice.below(20)));
    take_name(dice);
  }).join();
}

void start_thread(Dice& dice, World& world) {
  world.threads.start([seed = dice.below(1'000'000)](const std::stop_token& stop) {
    Dice own(seed);
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      live_shortly(own);
      stopped.wait_for(lock, stop, std::chrono::milliseconds(own.between(20, 200)),
                       [] { return false; });
    }
  });
}

void end_thread(Dice& dice, World& world) { world.threads.stop_one(dice); }

void exit_child(Dice& dice, World& world) {
  world.children.run([&dice] {
    live_shortly(dice);
    std::jthread([&dice] { live_shortly(dice); }).join();
    return static_cast<int>(dice.below(256));
  });
}

// By its own name, or by a link with the name of the tests' program.
void exec_program(Dice& dice, World& world) {
  const std::string link = world.directory / "truth";
  std::ignore = ::symlink(kProgram, link.c_str());
  world.children.run([&dice, &link] {
    become(dice.coin() ? kProgram : link.c_str(), dice.pick(kNames));
    return 0;
  });
}

void exec_missing_program(Dice&, World& world) {
  world.children.run([] {
    become("/nonexistent/noise", "noise");
    return 0;
  });
}

// The kernel suspends the parent until the child has executed the program.
void spawn_program(Dice&, World&) {
  pid_t child = 0;
  const std::array<const char*, 2> arguments = {kProgram, nullptr};
  if (::posix_spawn(&child, kProgram, nullptr, nullptr, const_cast<char* const*>(arguments.data()),
                    environ) == 0)
    ::waitpid(child, nullptr, 0);
}

// A child that ends before its own child, which becomes one of this program.
void leave_orphan(Dice& dice, World& world) {
  world.children.run([&dice] {
    const auto life = static_cast<long>(dice.between(100, 5'000));
    if (::fork() == 0) {
      take_name(dice);
      pause_for(life);
    }
    return 0;
  });
}

void start_process(Dice& dice, World& world) {
  world.children.keep([own = Dice(dice.below(1'000'000))] { return linger(own); });
}

void kill_process(Dice& dice, World& world) {
  constexpr std::array kEnds = {SIGKILL, SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGUSR1};
  const int signal = dice.pick(kEnds);
  world.children.signal_one(dice, signal);
}

void signal_child(Dice& dice, World& world) {
  world.children.run(wait_for_signals, [&dice](pid_t child) {
    pause_for(200);  // it may be ready by then; if not, the first signal kills it
    for (uint64_t left = dice.between(1, 8); left > 0; --left) {
      switch (dice.below(3)) {
        case 0:
          std::ignore = ::kill(child, dice.pick(kSignals));
          break;
        case 1:
          std::ignore = ::sigqueue(child, SIGRTMIN + 2, sigval{.sival_int = 42});
          break;
        default:
          std::ignore = ::syscall(SYS_tgkill, child, child, dice.pick(kSignals));
      }
    }
    std::ignore = ::kill(child, SIGCONT);
    std::ignore = ::kill(child, dice.coin() ? SIGTERM : SIGKILL);
  });
}

// It handles the fault, because the kernel logs those that no one handles.
void crash_child(Dice& dice, World& world) {
  world.children.run([&dice] {
    take_name(dice);
    if (dice.coin()) ::abort();
    std::signal(SIGSEGV, [](int) { ::_exit(3); });
    int* volatile nowhere = nullptr;
    *nowhere = 1;
    return 0;
  });
}

}  // namespace noise
