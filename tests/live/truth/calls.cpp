// SPDX-License-Identifier: BSD-2-Clause
// System calls whose numbers, arguments and results are known.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <thread>

#include "truth.h"

namespace truth {
namespace {

constexpr std::array<unsigned long, 6> kMarks = {0x1111111111111111, 0x2222222222222222,
                                                 0x3333333333333333, 0x4444444444444444,
                                                 0x5555555555555555, 0x6666666666666666};

constexpr long kNoSuchCall = 1000, kNoSuchCallEither = 1001;

// Makes and records calls one right after the other, without allocating memory or making other
// calls in between.
class CallBook {
 public:
  long call(const char* name, long nr, const std::array<unsigned long, 6>& arguments) {
    Call& entry = calls_.at(count_++);
    entry = {name, nr, arguments, raw_syscall(nr, arguments)};
    return entry.ret;
  }
  [[nodiscard]] json report() const {
    json list = json::array();
    for (size_t i = 0; i < count_; ++i)
      list.push_back({{"name", calls_[i].name},
                      {"nr", calls_[i].nr},
                      {"args", calls_[i].arguments},
                      {"ret", calls_[i].ret}});
    return list;
  }

 private:
  struct Call {
    const char* name;
    long nr;
    std::array<unsigned long, 6> arguments;
    long ret;
  };
  std::array<Call, 16> calls_ = {};
  size_t count_ = 0;
};

unsigned long address(const void* pointer) { return reinterpret_cast<unsigned long>(pointer); }

void pause_microseconds(long microseconds) {
  timespec time = {microseconds / 1'000'000, microseconds % 1'000'000 * 1000};
  if (microseconds > 0) ::nanosleep(&time, nullptr);
}

std::jmp_buf no_ia32;

// From now on seccomp refuses this call with EPERM.
void refuse_call(unsigned nr) {
  std::array<sock_filter, 4> code = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog filter = {.len = code.size(), .filter = code.data()};
  check(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
  check(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), "seccomp");
}

}  // namespace

// int $0x80 enters the 32-bit system call table from 64-bit code.
long ia32_call(unsigned nr, const std::array<unsigned, 5>& arguments) {
  long result;
  asm volatile("int $0x80"
               : "=a"(result)
               : "a"(nr), "b"(arguments[0]), "c"(arguments[1]), "d"(arguments[2]),
                 "S"(arguments[3]), "D"(arguments[4])
               : "r8", "r9", "r10", "r11", "memory");
  return static_cast<int>(result);
}

// getppid N: exactly N calls of getppid.
json getppid_calls(Arguments arguments) {
  long count = number(arguments, 0, 1000);
  long parent = 0;
  for (long i = 0; i < count; ++i) parent = ::syscall(SYS_getppid);
  return {{"count", count}, {"ret", parent}};
}

void wait_for_end_of_input() {
  char byte;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
}

// numbered N [MICROSECONDS]: getpriority(0, n) for n = 1 … N, or with N = 0 until standard
// input ends, with a pause after each.
json numbered_calls(Arguments arguments) {
  const long count = number(arguments, 0, 1000), pause = number(arguments, 1, 0);
  std::atomic<bool> stop = false;
  std::jthread watch([&] {
    if (count == 0) wait_for_end_of_input();
    stop = true;
  });
  long n = 0;
  while (count == 0 ? !stop.load(std::memory_order_relaxed) : n < count) {
    raw_syscall(SYS_getpriority, {0, static_cast<unsigned long>(++n), 0, 0, 0, 0});
    pause_microseconds(pause);
  }
  return {{"count", n}};
}

// load [THREADS]: getppid in a loop until standard input ends; counts the calls.
json load(Arguments arguments) {
  std::atomic<bool> stop = false;
  std::atomic<long> count = 0;
  std::vector<std::jthread> threads;
  for (long i = 0; i < number(arguments, 0, 1); ++i)
    threads.emplace_back([&] {
      long own = 0;
      for (; !stop.load(std::memory_order_relaxed); ++own) ::syscall(SYS_getppid);
      count += own;
    });
  wait_for_end_of_input();
  stop = true;
  threads.clear();
  return {{"count", count.load()}};
}

// syscalls: a list of calls with their registers and results; the process makes no others
// between the first and the last of them, whose numbers no kernel knows.
json known_syscalls(Arguments) {
  std::array<char, 128> buffer = {};
  const char* missing = "/nonexistent/ktraced-truth";
  const auto self = static_cast<unsigned long>(::getpid());
  const auto here = static_cast<unsigned long>(AT_FDCWD);
  CallBook book;
  book.call("", kNoSuchCall, kMarks);
  book.call("openat", SYS_openat, {here, address(missing), O_RDONLY, 0, kMarks[4], kMarks[5]});
  auto mapped = static_cast<unsigned long>(book.call(
      "mmap", SYS_mmap, {0, 12288, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, ~0UL, 0}));
  book.call("munmap", SYS_munmap, {mapped, 12288, kMarks[2], kMarks[3], kMarks[4], kMarks[5]});
  auto zero = static_cast<unsigned long>(
      book.call("openat", SYS_openat, {here, address("/dev/zero"), O_RDONLY | O_CLOEXEC, 0, 0, 0}));
  book.call("pread64", SYS_pread64, {zero, address(buffer.data()), 100, 7, 0, 0});
  book.call("close", SYS_close, {zero, 0, 0, 0, 0, 0});
  book.call("close", SYS_close, {0x7fffffff, 0, 0, 0, 0, 0});
  book.call("getpid", SYS_getpid, kMarks);
  book.call("kill", SYS_kill, {self, 0, 0, 0, 0, 0});
  book.call("kill", SYS_kill, {1, 99, 0, 0, 0, 0});
  book.call("", kNoSuchCallEither, kMarks);
  return {{"calls", book.report()}};
}

// ia32: getpid (20 in the 32-bit table) through the 32-bit entry.
json ia32_syscall(Arguments) {
  struct sigaction action = {};
  action.sa_handler = [](int) { std::longjmp(no_ia32, 1); };
  ::sigaction(SIGSEGV, &action, nullptr);
  if (setjmp(no_ia32) != 0) return {{"supported", false}};
  constexpr unsigned kIa32Getpid = 20;
  const std::array<unsigned, 5> registers = {0x11111111, 0x22222222, 0x33333333, 0x44444444,
                                             0x55555555};
  long result = ia32_call(kIa32Getpid, registers);
  return {{"supported", true}, {"nr", kIa32Getpid}, {"args", registers}, {"ret", result}};
}

// harmless WORD…: a call for each word, with arguments that the kernel refuses: "0:NR" by the
// 64-bit entry, "1:NR" by the 32-bit entry. "refuse:NR" makes seccomp refuse that call from then
// on.
json harmless_calls(Arguments words) {
  json results = json::array();
  for (const std::string& word : words) {
    const size_t colon = word.find(':');
    const auto nr = static_cast<unsigned>(std::stoul(word.substr(colon + 1)));
    if (word.starts_with("refuse"))
      refuse_call(nr);
    else if (word.starts_with("1"))
      results.push_back(ia32_call(nr, {~0U, 0, 0, 0, 0}));
    else
      results.push_back(raw_syscall(nr, {~0UL, 0, 0, 0, 0, 0}));
  }
  return {{"results", std::move(results)}};
}

}  // namespace truth
