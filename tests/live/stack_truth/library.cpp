// SPDX-License-Identifier: BSD-2-Clause
// A shared library with a known function.
#include "functions.h"

KNOWN_RANGE(through_library)

extern "C" KNOWN_FUNCTION(through_library) long through_library(stack_truth::Next next,
                                                                stack_truth::Call& call) {
  return next(call);
}

extern "C" void range_of_library(stack_truth::Range& range) { range = known_through_library(); }
