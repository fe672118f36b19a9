// The running kernel's description of its own types.
#pragma once

#include <memory>

#include "base/error.h"

struct btf;

namespace ktraced {

struct FreeBtf {
  void operator()(btf* btf) const;
};
using BtfPtr = std::unique_ptr<btf, FreeBtf>;

// Parses /sys/kernel/btf/vmlinux: some ten milliseconds and megabytes, so keep it
// no longer than needed. Fails with ExitCode::unavailable.
[[nodiscard]] Result<BtfPtr> load_kernel_btf();

}  // namespace ktraced
