// SPDX-License-Identifier: BSD-2-Clause
#include "functions.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#include <csignal>
#include <ctime>

// Calls function(argument) with this frame pointer, and has no frame of its own.
extern "C" long call_below(uint64_t frame, long (*function)(stack_truth::Call&),
                           stack_truth::Call& argument);
__asm__(R"(
  .pushsection known_call_below, "ax", @progbits
  .globl call_below
  .type call_below, @function
call_below:
  push %rbp
  mov %rdi, %rbp
  mov %rdx, %rdi
  call *%rsi
  pop %rbp
  ret
  .size call_below, . - call_below
  .popsection
)");

// Calls function(first, second) with 0 as the frame pointer.
extern "C" int call_without_frame(int first, id_t second, int (*function)(int, id_t));
__asm__(R"(
  .pushsection .text
  .globl call_without_frame
  .type call_without_frame, @function
call_without_frame:
  push %rbp
  xor %ebp, %ebp
  call *%rdx
  pop %rbp
  ret
  .size call_without_frame, . - call_without_frame
  .popsection
)");

KNOWN_RANGE(call_below)
KNOWN_RANGE(turn)
KNOWN_RANGE(plain_function)
KNOWN_RANGE(descend)
KNOWN_RANGE(leaf)

namespace stack_truth {
namespace {

// The C library has no frame pointers. This is in the function that calls it.
__attribute__((always_inline)) inline long system_call(long number, uint64_t first, uint64_t second,
                                                       uint64_t third) {
  long result = 0;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(first), "S"(second), "d"(third)
               : "rcx", "r11", "memory");
  return result;
}

KNOWN_FUNCTION(leaf) long leaf(Call& call) {
  const timespec pause = {.tv_sec = 0, .tv_nsec = 1'000'000};
  if (call.action == Action::sleep)
    system_call(SYS_nanosleep, reinterpret_cast<uint64_t>(&pause), 0, 0);
  if (call.action == Action::signal)  // ignored
    system_call(SYS_tgkill, static_cast<uint64_t>(system_call(SYS_getpid, 0, 0, 0)),
                static_cast<uint64_t>(system_call(SYS_gettid, 0, 0, 0)), SIGWINCH);
  if (call.action == Action::library)
    return call_without_frame(0, static_cast<id_t>(call.number), ::getpriority);
  return system_call(SYS_getpriority, 0, call.number, 0);
}

KNOWN_FUNCTION(descend) long descend(Call& call) {
  return call.depth-- > 0 ? descend(call) : leaf(call);
}

}  // namespace

extern "C" KNOWN_FUNCTION(plain_function) long plain_function(Call& call) {
  return call.through != nullptr ? call.through(descend, call) : descend(call);
}

struct Ring {
  static long turn(Call& call);
};

KNOWN_FUNCTION(turn) long Ring::turn(Call& call) { return plain_function(call); }

void make(Call& call, Above above) { call_below(static_cast<uint64_t>(above), Ring::turn, call); }

std::map<std::string, Range> known_functions() {
  return {{"call_below", known_call_below()},
          {"turn", known_turn()},
          {"plain_function", known_plain_function()},
          {"descend", known_descend()},
          {"leaf", known_leaf()}};
}

}  // namespace stack_truth
