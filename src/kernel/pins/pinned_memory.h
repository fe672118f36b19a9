// SPDX-License-Identifier: BSD-2-Clause
// Memory of the daemon that outlives it.
#pragma once

#include <cstddef>
#include <string>

#include "base/error.h"
#include "base/mapping.h"
#include "kernel/pins/pins.h"

namespace ktraced {

// The value of a map that no program uses, pinned beside those that programs do.
struct PinnedMemory {
  Mapping mapping;
  bool adopted = false;  // an earlier daemon wrote it; otherwise it is all zero

  // Opens the map pinned under `name`, or creates it if there is none of that size. Without `pins`
  // the map ends with the daemon. Fails with ExitCode::os.
  static Result<PinnedMemory> open(const Pins* pins, const std::string& name, size_t bytes);
};

}  // namespace ktraced
