// SPDX-License-Identifier: BSD-2-Clause
// Samples of CPUs, for tests of readers.
#pragma once

#include <cstdint>

#include "bpf/records.h"
#include "unit/support/packets.h"

namespace ktraced::test {

// A record without stacks.
inline Bytes sample_of(uint64_t ts, uint32_t tid, uint32_t mode) {
  return make_record(EVENT_cpu_sample, ts, tid, rec_cpu_sample{.mode = mode, .periods = 1});
}

}  // namespace ktraced::test
