// SPDX-License-Identifier: BSD-2-Clause
// Copies of the probes' BPF program, one for each probe.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "base/error.h"
#include "base/fd.h"
#include "bpf/shared_state.h"
#include "kernel/programs/bpf_object.h"

struct bpf_program;

namespace ktraced {

// How a program is attached.
enum class ProbeHook {
  one_by_one,  // a kprobe or kretprobe for each function
  multi,       // kprobe.multi: any number of functions at once
};

// The bytes of the probes' BPF object as built into this program.
[[nodiscard]] std::span<const std::byte> probe_object_bytes();

// Loads a copy that runs `program`, on the maps of `object`. Fails with ExitCode::unavailable, with
// the kernel's reason. `prepare` gets the program right before loading.
[[nodiscard]] Result<Fd> load_probe_program(
    const BpfObject& object, const fetch_program& program, ProbeHook hook,
    const std::function<void(bpf_program*)>& prepare = nullptr);

}  // namespace ktraced
