// SPDX-License-Identifier: BSD-2-Clause
// A program whose stacks are known: it has no library, and all its functions have frame pointers.
// It writes "ready", waits for a byte on its standard input, and then uses the CPU for SECONDS:
// in of_five_parts, in of_three_parts below middle, in deepest below 8 times descend, and in the
// kernel below in_kernel. tests/bench/samples compiles and runs it.
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>

// Variables of functions that call none are volatile: compilers leave out the frame of what has
// nothing on its stack.
#define APART __attribute__((noipa))
// What follows a call: the call is not the end of its function, which would replace its frame.
#define AND_RETURN __asm__ volatile("" ::: "memory")
#define SPINNING(name, turns) \
  APART void name(void) { for (volatile unsigned long i = 0; i < (turns) * 10000UL; i = i + 1); }

static char buffer[1 << 16];

APART static long call(long number, long a, long b, long c) {
  volatile long kept;
  long result;

  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c)
                   : "rcx", "r11", "memory");
  kept = result;
  return kept;
}

SPINNING(of_five_parts, 50)
SPINNING(of_three_parts, 30)
SPINNING(deepest, 10)

APART void middle(void) {
  of_three_parts();
  AND_RETURN;
}

APART void descend(int left) {
  if (left == 0)
    deepest();
  else
    descend(left - 1);
  AND_RETURN;
}

APART void in_kernel(int file) {
  for (int i = 0; i < 20; i++) call(SYS_read, file, (long)buffer, sizeof(buffer));
  AND_RETURN;
}

APART long seconds_used(void) {
  struct rusage usage;

  call(SYS_getrusage, RUSAGE_SELF, (long)&usage, 0);
  return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec;
}

APART void work(int file) {
  while (seconds_used() < SECONDS) {
    of_five_parts();
    middle();
    descend(7);
    in_kernel(file);
  }
}

APART __attribute__((used)) void begin(void) {
  call(SYS_write, 1, (long)"ready\n", 6);
  call(SYS_read, 0, (long)buffer, 1);
  work((int)call(SYS_open, (long)"/dev/zero", 0, 0));
  call(SYS_exit_group, 0, 0, 0);
}

__asm__(
    ".globl _start\n"
    ".type _start, @function\n"
    "_start: xor %ebp, %ebp\n"
    "and $-16, %rsp\n"
    "call begin\n"
    "hlt\n"
    ".size _start, .-_start");
