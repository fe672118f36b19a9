// SPDX-License-Identifier: BSD-2-Clause
// System calls of many kinds, with results of many kinds.
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <string>
#include <tuple>

#include "actions.h"
#include "base/fd.h"

namespace noise {
namespace {

using ktraced::Fd;
using Call = void (*)(Dice&);

constexpr std::array<Call, 10> kQuestions = {
    [](Dice& dice) {
      std::ignore = ::getpriority(PRIO_PROCESS, static_cast<id_t>(dice.below(1000)));
    },
    [](Dice&) { std::ignore = ::syscall(SYS_getppid); },
    [](Dice&) { std::ignore = ::syscall(SYS_gettid); },
    [](Dice&) { std::ignore = ::syscall(SYS_getuid); },
    [](Dice&) {
      cpu_set_t set;
      std::ignore = ::sched_getaffinity(0, sizeof(set), &set);
    },
    [](Dice&) {
      utsname name;
      std::ignore = ::uname(&name);
    },
    [](Dice&) {
      struct sysinfo info;
      std::ignore = ::sysinfo(&info);
    },
    [](Dice&) {
      rusage usage;
      std::ignore = ::getrusage(RUSAGE_SELF, &usage);
    },
    [](Dice&) {
      tms times;
      std::ignore = ::times(&times);
    },
    [](Dice& dice) {
      rlimit limit;
      std::ignore = ::getrlimit(static_cast<__rlimit_resource>(dice.below(RLIM_NLIMITS)), &limit);
    },
};

constexpr std::array<Call, 8> kMistakes = {
    [](Dice&) { std::ignore = ::syscall(SYS_close, -1); },
    [](Dice& dice) { std::ignore = ::syscall(static_cast<long>(dice.between(1000, 1020))); },
    [](Dice&) { std::ignore = ::syscall(SYS_openat, AT_FDCWD, nullptr, O_RDONLY); },
    [](Dice&) { std::ignore = ::syscall(SYS_read, 0x7fffffff, nullptr, 1); },
    [](Dice&) { std::ignore = ::kill(1, 99); },
    [](Dice&) { std::ignore = ::mkdir("/proc/noise", 0700); },
    [](Dice&) { std::ignore = ::unlink("/nonexistent/noise"); },
    [](Dice& dice) { std::ignore = ::syscall(SYS_ioctl, -1, dice.below(65536), 0); },
};

constexpr std::array kMissing = std::to_array<const char*>({
    "/nonexistent/ktraced-truth",
    "/nonexistent/noise",
    "/etc/noise.conf",
    "/lib/x86_64-linux-gnu/libnoise.so.1",
    "missing",
    "",
    "/etc/passwd/noise",
    "a \"quote\", a \\, a\nline, an \x1b and an é",
});

constexpr std::array kReadable = std::to_array<const char*>({
    "/dev/zero",
    "/etc/passwd",
    "/proc/self/stat",
    "/proc/self/status",
    "/proc/self/maps",
    "/proc/loadavg",
    "/proc/uptime",
});

constexpr std::array kPlaces = std::to_array<const char*>({
    "/",
    "/tmp",
    "/etc/passwd",
    "/proc/self/exe",
    "/bin/true",
    "/dev/null",
    "/nonexistent/noise",
});

// Up to half a millisecond.
timespec short_time(Dice& dice) { return {0, static_cast<long>(dice.below(500'000))}; }

void several(Dice& dice, uint64_t most, const auto& calls) {
  for (uint64_t left = dice.between(1, most); left > 0; --left) dice.pick(calls)(dice);
}

}  // namespace

void ask(Dice& dice, World&) { several(dice, 40, kQuestions); }

void make_mistakes(Dice& dice, World&) { several(dice, 20, kMistakes); }

void open_missing_files(Dice& dice, World&) {
  for (uint64_t left = dice.between(1, 20); left > 0; --left)
    const Fd none(::open(dice.pick(kMissing), O_RDONLY | O_CLOEXEC));
}

void read_and_write(Dice& dice, World&) {
  std::array<char, 4096> buffer;
  const Fd from(::open(dice.pick(kReadable), O_RDONLY | O_CLOEXEC));
  const Fd to(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  for (uint64_t left = dice.between(1, 10); left > 0; --left) {
    const size_t length = dice.between(1, buffer.size());
    std::ignore = dice.coin() ? ::read(from.get(), buffer.data(), length)
                              : ::pread(from.get(), buffer.data(), length, 7);
    std::ignore = ::write(to.get(), buffer.data(), length);
  }
}

void look_at_files(Dice& dice, World& world) {
  struct stat status;
  std::array<char, 1024> buffer;
  for (uint64_t left = dice.between(1, 10); left > 0; --left) {
    const char* path = dice.pick(kPlaces);
    std::ignore = ::stat(path, &status);
    std::ignore = ::access(path, R_OK | W_OK);
    std::ignore = ::readlink(path, buffer.data(), buffer.size());
  }
  const Fd directory(::open(world.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (::syscall(SYS_getdents64, directory.get(), buffer.data(), buffer.size()) > 0) {
  }
}

// A wake-up of no one, a value that has changed, and a wait that ends by its time.
void use_futex(Dice& dice, World&) {
  uint32_t word = 1;
  const timespec limit = short_time(dice);
  std::ignore = ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
  std::ignore = ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, nullptr);
  std::ignore = ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &limit);
}

// The last write finds no reader.
void use_pipe(Dice& dice, World&) {
  std::array<int, 2> ends;
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
  Fd from(ends[0]);
  const Fd to(ends[1]);
  std::array<char, 4096> buffer = {};
  std::ignore = ::fcntl(to.get(), F_SETPIPE_SZ, 4096 << dice.below(6));
  for (uint64_t left = dice.between(1, 10); left > 0; --left)
    std::ignore = ::write(to.get(), buffer.data(), dice.between(1, buffer.size()));
  while (::read(from.get(), buffer.data(), buffer.size()) > 0) {
  }
  from.reset();
  std::ignore = ::write(to.get(), buffer.data(), 1);
}

void use_sockets(Dice& dice, World& world) {
  std::array<int, 2> ends;
  constexpr std::array kTypes = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
  if (::socketpair(AF_UNIX, dice.pick(kTypes) | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
  const Fd one(ends[0]), other(ends[1]);
  std::array<char, 512> buffer = {};
  for (uint64_t left = dice.between(1, 8); left > 0; --left) {
    std::ignore = ::send(one.get(), buffer.data(), dice.between(1, buffer.size()), MSG_DONTWAIT);
    std::ignore = ::recv(other.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  }
  sockaddr_un missing = {.sun_family = AF_UNIX, .sun_path = {}};
  world.directory.string().copy(missing.sun_path, sizeof(missing.sun_path) - 1);
  const Fd local(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  std::ignore = ::connect(local.get(), reinterpret_cast<sockaddr*>(&missing), sizeof(missing));
  // A connected datagram socket sends nothing.
  sockaddr_in port = {.sin_family = AF_INET,
                      .sin_port = htons(static_cast<uint16_t>(dice.between(1, 65535))),
                      .sin_addr = {htonl(INADDR_LOOPBACK)},
                      .sin_zero = {}};
  const Fd datagram(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  std::ignore = ::connect(datagram.get(), reinterpret_cast<sockaddr*>(&port), sizeof(port));
}

void use_epoll(Dice& dice, World&) {
  const Fd poll(::epoll_create1(EPOLL_CLOEXEC));
  const Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const Fd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  epoll_event interest = {.events = EPOLLIN, .data = {}}, ready;
  std::ignore = ::epoll_ctl(poll.get(), EPOLL_CTL_ADD, event.get(), &interest);
  std::ignore = ::epoll_ctl(poll.get(), EPOLL_CTL_ADD, timer.get(), &interest);
  const itimerspec once = {.it_interval = {}, .it_value = {0, 100'000}};
  std::ignore = ::timerfd_settime(timer.get(), 0, &once, nullptr);
  uint64_t count = 1;
  if (dice.coin()) std::ignore = ::write(event.get(), &count, sizeof(count));
  std::ignore = ::epoll_wait(poll.get(), &ready, 1, static_cast<int>(dice.below(2)));
  std::ignore = ::read(event.get(), &count, sizeof(count));
}

void sleep_shortly(Dice& dice, World&) {
  const timespec time = short_time(dice);
  switch (dice.below(4)) {
    case 0:
      std::ignore = ::nanosleep(&time, nullptr);
      break;
    case 1:
      std::ignore = ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
      break;
    case 2:
      std::ignore = ::ppoll(nullptr, 0, &time, nullptr);
      break;
    default:
      std::ignore = ::sched_yield();
  }
}

}  // namespace noise
