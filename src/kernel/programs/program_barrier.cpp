// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/programs/program_barrier.h"

#include <bpf/bpf.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

namespace ktraced {
namespace {

constexpr uint32_t kSlot = 0;

}  // namespace

Result<> ProgramBarrier::prepare() {
  if (outer_) return {};
  const auto failed = [] {
    return fail(ExitCode::os, "cannot make the map that waits for programs: {}", errno_text(errno));
  };
  Fd inner(std::max(-1, bpf_map_create(BPF_MAP_TYPE_ARRAY, "barrier_inner", sizeof(kSlot),
                                       sizeof(uint64_t), 1, nullptr)));
  if (!inner) return failed();
  LIBBPF_OPTS(bpf_map_create_opts, options, .inner_map_fd = static_cast<uint32_t>(inner.get()));
  Fd outer(std::max(-1, bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "barrier", sizeof(kSlot),
                                       sizeof(uint32_t), 1, &options)));
  if (!outer) return failed();
  inner_ = std::move(inner);
  outer_ = std::move(outer);
  return {};
}

// The kernel waits for running programs when a slot of any map of maps is updated
// (maybe_wait_bpf_programs() in kernel/bpf/syscall.c). membarrier(MEMBARRIER_CMD_GLOBAL) is no
// alternative: with one CPU online it returns at once, although from 7.0 on a program may be
// preempted there, and with nohz_full it is refused.
void ProgramBarrier::wait() {
  if (auto prepared = prepare(); !prepared) {
    spdlog::error("{}", prepared.error().message);
    return;
  }
  const int inner = inner_.get();
  if (bpf_map_update_elem(outer_.get(), &kSlot, &inner, BPF_ANY) != 0)
    spdlog::error("cannot wait for programs that are running: {}", errno_text(errno));
}

}  // namespace ktraced
