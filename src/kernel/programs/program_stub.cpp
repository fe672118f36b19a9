// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/programs/program_stub.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace ktraced {

Result<Fd> load_tracepoint_stub(int programs, int index) {
  constexpr uint8_t kLoadWide = BPF_LD | BPF_IMM | BPF_DW, kMove = BPF_ALU64 | BPF_MOV | BPF_K;
  // The context is in register 1 already.
  const std::array<bpf_insn, 6> code = {{
      {.code = kLoadWide, .dst_reg = BPF_REG_2, .src_reg = BPF_PSEUDO_MAP_FD, .imm = programs},
      {},  // upper half of the load
      {.code = kMove, .dst_reg = BPF_REG_3, .imm = index},
      {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_tail_call},
      {.code = kMove, .dst_reg = BPF_REG_0, .imm = 0},
      {.code = BPF_JMP | BPF_EXIT},
  }};
  LIBBPF_OPTS(bpf_prog_load_opts, options);
  Fd stub(std::max(-1, bpf_prog_load(BPF_PROG_TYPE_TRACEPOINT, "event_stub", "Dual BSD/GPL",
                                     code.data(), code.size(), &options)));
  if (!stub)
    return fail(ExitCode::unavailable, "the kernel refuses the program of an event: {}",
                errno_text(errno));
  return stub;
}

}  // namespace ktraced
