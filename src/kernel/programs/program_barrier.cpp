// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/programs/program_barrier.h"

#include <bpf/bpf.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "base/error.h"

namespace ktraced {

// The kernel waits for running programs when a slot of any map of maps is updated
// (maybe_wait_bpf_programs() in kernel/bpf/syscall.c). membarrier(MEMBARRIER_CMD_GLOBAL) is no
// alternative: with one CPU online it returns at once, although from 7.0 on a program may be
// preempted there, and with nohz_full it is refused.
void ProgramBarrier::wait() {
  constexpr uint32_t kSlot = 0;
  if (!outer_) {
    inner_ = Fd(std::max(-1, bpf_map_create(BPF_MAP_TYPE_ARRAY, "barrier_inner", sizeof(kSlot),
                                            sizeof(uint64_t), 1, nullptr)));
    LIBBPF_OPTS(bpf_map_create_opts, options, .inner_map_fd = static_cast<uint32_t>(inner_.get()));
    outer_ = Fd(std::max(-1, bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "barrier", sizeof(kSlot),
                                            sizeof(uint32_t), 1, &options)));
  }
  const int inner = inner_.get();
  if (bpf_map_update_elem(outer_.get(), &kSlot, &inner, BPF_ANY) != 0)
    spdlog::error("cannot wait for programs that are running: {}", errno_text(errno));
}

}  // namespace ktraced
