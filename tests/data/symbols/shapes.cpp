// SPDX-License-Identifier: BSD-2-Clause
// A library that tests of symbols read: tests/CMakeLists.txt builds it. Its lines are numbered in
// the tests.

volatile int seen;

namespace shapes {

[[gnu::always_inline]] inline int square(int n) {
  seen = n;
  return n * n;
}

[[gnu::always_inline]] inline int sum_of_squares(int a, int b) { return square(a) + square(b); }

[[gnu::noinline]] int hypotenuse(int a, int b) { return sum_of_squares(a, b); }

}  // namespace shapes

[[gnu::noinline]] static int hidden(int n) {
  seen = n;
  return n + 1;
}

extern "C" {

int plain(int n) { return shapes::hypotenuse(n, hidden(n)); }

[[gnu::alias("plain")]] int __plain(int n);
[[gnu::alias("plain"), gnu::weak]] int a_weak_plain(int n);

const void* address_of_hidden() { return reinterpret_cast<const void*>(hidden); }
}

// Functions in assembly, the first two of which have no size: one ends where the next begins, the
// other with its section. The third has one without a size in it. The last is where signal handlers
// return to: the byte before it is of none.
asm(R"(
    .section assembly, "ax", @progbits
    .globl without_size, last_without_size
without_size:
    nop
    nop
    nop
    nop
last_without_size:
    nop
    nop
    .text
    .globl outer, in_outer
    .type outer, @function
outer:
    nop
in_outer:
    nop
    nop
    .size outer, . - outer
    .section signal_return, "ax", @progbits
    nop
    .globl __restore_rt
    .type __restore_rt, @function
__restore_rt:
    nop
    .size __restore_rt, . - __restore_rt
    .text
)");
