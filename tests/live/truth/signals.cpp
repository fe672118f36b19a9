// SPDX-License-Identifier: BSD-2-Clause
// Signals of all kinds, sent and received by the process itself.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csetjmp>
#include <csignal>

#include "truth.h"

namespace truth {
namespace {

// As struct kernel_sigaction of the kernel's ABI: what rt_sigaction really sets.
struct KernelAction {
  unsigned long handler, flags, restorer, mask;
};

KernelAction kernel_action(int signal) {
  KernelAction action = {};
  check(::syscall(SYS_rt_sigaction, signal, nullptr, &action, sizeof(action.mask)), "rt_sigaction");
  return action;
}

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  check(::sigaction(signal, &action, nullptr), "sigaction");
}

sigjmp_buf after_fault;
void on_fault(int) { siglongjmp(after_fault, 1); }
void on_signal(int) {}

// Values of signal_generate's result; include/trace/events/signal.h.
enum Result { kDelivered = 0, kIgnored = 1, kAlreadyPending = 2 };

struct Sent {
  int signal, code;
  pid_t to;
  bool group;
  Result result;
};

json as_json(const Sent& sent) {
  return {{"sig", sent.signal},
          {"code", sent.code},
          {"pid", sent.to},
          {"group", sent.group},
          {"result", sent.result}};
}

json delivered(int signal, int code) {
  KernelAction action = kernel_action(signal);
  return {{"sig", signal}, {"code", code}, {"handler", action.handler}, {"flags", action.flags}};
}

class Book {
 public:
  void sent(const Sent& what) { generated_.push_back(as_json(what)); }
  void got(int signal, int code) { delivered_.push_back(delivered(signal, code)); }
  json report() const { return {{"generated", generated_}, {"delivered", delivered_}}; }

 private:
  json generated_ = json::array(), delivered_ = json::array();
};

void send_handled(Book& book) {
  pid_t self = ::getpid();
  handle(SIGUSR1, on_signal, SA_RESTART);
  check(::sigqueue(self, SIGUSR1, sigval{.sival_int = 42}), "sigqueue");
  book.sent({SIGUSR1, SI_QUEUE, self, true, kDelivered});
  book.got(SIGUSR1, SI_QUEUE);
  check(::kill(self, SIGUSR1), "kill");
  book.sent({SIGUSR1, SI_USER, self, true, kDelivered});
  book.got(SIGUSR1, SI_USER);
  check(::syscall(SYS_tgkill, self, gettid_now(), SIGUSR1), "tgkill");
  book.sent({SIGUSR1, SI_TKILL, gettid_now(), false, kDelivered});
  book.got(SIGUSR1, SI_TKILL);
}

void send_ignored(Book& book) {
  handle(SIGUSR2, SIG_IGN, 0);
  check(::kill(::getpid(), SIGUSR2), "kill");
  book.sent({SIGUSR2, SI_USER, ::getpid(), true, kIgnored});
}

// A blocked signal that is pending already is not queued a second time.
void send_twice_while_blocked(Book& book) {
  handle(SIGHUP, on_signal, 0);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGHUP);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  for (Result result : {kDelivered, kAlreadyPending}) {
    check(::kill(::getpid(), SIGHUP), "kill");
    book.sent({SIGHUP, SI_USER, ::getpid(), true, result});
  }
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  book.got(SIGHUP, SI_USER);
}

void fault(Book& book) {
  handle(SIGSEGV, on_fault, 0);
  void* page = ::mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (sigsetjmp(after_fault, 1) == 0) *static_cast<volatile char*>(page) = 1;
  book.sent({SIGSEGV, SEGV_ACCERR, gettid_now(), false, kDelivered});
  book.got(SIGSEGV, SEGV_ACCERR);
}

}  // namespace

// signal: lists every signal sent and every one that reached a handler, in order.
json signals(Arguments) {
  Book book;
  send_handled(book);
  send_ignored(book);
  send_twice_while_blocked(book);
  fault(book);
  return book.report();
}

}  // namespace truth
