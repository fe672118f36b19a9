// SPDX-License-Identifier: BSD-2-Clause
// Attaches each kind of program where it belongs.
#pragma once

#include "daemon/capture/call_hooks.h"
#include "daemon/capture/stack_hooks.h"
#include "daemon/events/event_catalog.h"
#include "daemon/programs/program_attacher.h"
#include "kernel/programs/bpf_object.h"

namespace ktraced {

// What a ProgramAttacher does in the kernel. All must outlive it.
[[nodiscard]] ProgramAttacher::Kernel attach_functions(
    BpfObject& object, EventCatalog& catalog, CallHooks& calls, StackHooks& stacks,
    Catchers& catchers, std::function<void(const std::string& event)> try_attach);

}  // namespace ktraced
