// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/stacks/frame_text.h"

#include <algorithm>
#include <array>

namespace ktraced {

// Between the hook and the program that took the stack. Names of compiled BPF programs and of
// trampolines end with what they belong to.
bool is_tracing_function(std::string_view function) {
  constexpr std::array<std::string_view, 14> kBeginnings = {
      "__traceiter_",     "__bpf_trace_",         "__probestub_",
      "bpf_trace_run",    "bpf_trampoline_",      "bpf_prog_",
      "bpf_get_stack",    "__bpf_get_stack",      "__bpf_prog_enter",
      "bpf_dispatcher_",  "trace_call_bpf",       "kprobe_dispatcher",
      "kprobe_perf_func", "kprobe_ftrace_handler"};
  constexpr std::array<std::string_view, 7> kWhole = {
      "perf_trace_run_bpf_submit", "bpf_overflow_handler",      "__perf_event_overflow",
      "perf_event_overflow",       "arch_ftrace_ops_list_func", "ftrace_call",
      "ftrace_regs_call"};
  return std::ranges::any_of(
             kBeginnings,
             [function](std::string_view beginning) { return function.starts_with(beginning); }) ||
         std::ranges::find(kWhole, function) != kWhole.end();
}

}  // namespace ktraced
