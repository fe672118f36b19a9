// SPDX-License-Identifier: BSD-2-Clause
// A 32-bit program, without a library. It prints the addresses of its functions, 32 bits each, the
// innermost first, and makes calls of getpriority(0, N), N from 1:
//
//   1   below all of them
//   2   with a frame pointer that is the sixth argument of a call: no address
//   3   with one that is above all memory
namespace {

constexpr unsigned kExit = 1, kWrite = 4, kGetpriority = 96;

__attribute__((always_inline)) inline void call(unsigned nr, unsigned first, unsigned second,
                                                unsigned third) {
  asm volatile("int $0x80" : "+a"(nr) : "b"(first), "c"(second), "d"(third) : "memory");
}

__attribute__((always_inline)) inline void call_at(unsigned frame, unsigned number) {
  unsigned nr = kGetpriority;
  asm volatile("push %%ebp\n\tmov %3, %%ebp\n\tint $0x80\n\tpop %%ebp"
               : "+a"(nr)
               : "b"(0), "c"(number), "d"(frame)
               : "memory");
}

__attribute__((noinline)) void innermost() {
  call(kGetpriority, 0, 1, 0);
  call_at(0x1234, 2);
  call_at(0xfffffff0, 3);
}

__attribute__((noinline)) void middle() { innermost(); }

__attribute__((noinline)) void outermost() { middle(); }

}  // namespace

// No frame is above that of begin().
asm(".globl _start\n"
    "_start:\n"
    "\txor %ebp, %ebp\n"
    "\tcall begin\n"
    "\thlt\n");
extern "C" void _start();

extern "C" [[noreturn]] void begin() {
  const auto address = [](void (*function)()) { return reinterpret_cast<unsigned>(function); };
  const unsigned functions[] = {address(innermost), address(middle), address(outermost),
                                address(begin), address(_start)};
  call(kWrite, 1, reinterpret_cast<unsigned>(functions), sizeof(functions));
  outermost();
  call(kExit, 0, 0, 0);
  __builtin_unreachable();
}
