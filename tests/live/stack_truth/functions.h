// SPDX-License-Identifier: BSD-2-Clause
// Functions whose place in memory, frames and order in a stack are known.
#pragma once

#include <cstdint>
#include <map>
#include <string>

// Puts a function into a section of its own, so that the linker knows where it begins and ends.
#define KNOWN_FUNCTION(name) __attribute__((noinline, section("known_" #name)))
// Declares known_NAME(): where it is.
#define KNOWN_RANGE(name)                                       \
  extern "C" __attribute__((visibility("hidden")))              \
  const char begin_of_##name[] __asm__("__start_known_" #name); \
  extern "C" __attribute__((visibility("hidden")))              \
  const char end_of_##name[] __asm__("__stop_known_" #name);    \
  static stack_truth::Range known_##name() {                    \
    return {reinterpret_cast<uint64_t>(begin_of_##name),        \
            reinterpret_cast<uint64_t>(end_of_##name)};         \
  }

namespace stack_truth {

// Addresses, from the first one up to the one behind the last one.
struct Range {
  uint64_t begin = 0, end = 0;
};

// What happens below the functions: the call getpriority(0, number), and what comes before it; or
// that call by the C library, which has no frame there and finds 0 in the frame pointer.
enum class Action : uint8_t { call, sleep, signal, library };

struct Call;
using Next = long (*)(Call& call);
// A function that calls `next`, and has a frame meanwhile.
using Through = long (*)(Next next, Call& call);

struct Call {
  Action action = Action::call;
  uint64_t number = 0;
  int depth = 0;              // how often descend() calls itself
  Through through = nullptr;  // between plain_function() and descend(); null: nothing
};

// What the frame pointer is above the outermost function.
enum class Above : uint64_t {
  start = 0,                                // the stack begins there
  broken = 1,                               // it is no address
  unreadable = (uint64_t{1} << 47) - 4096,  // the page behind the last one of any process
};

// Acts below call_below(), Ring::turn(), plain_function(), `through`, descend() and leaf().
void make(Call& call, Above above);
// Where these functions are, without `through`: by their names above.
std::map<std::string, Range> known_functions();

}  // namespace stack_truth
