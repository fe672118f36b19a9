// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/stacks/frame_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ktraced {

std::string label_of(const FrameText& text) {
  std::string label = text.function;
  if (text.inlined) label += " (inlined)";
  if (!text.module.empty()) label += fmt::format(" [{}]", text.module);
  if (!text.source.empty())
    label += fmt::format(" at {}:{}", text.source.substr(text.source.rfind('/') + 1), text.line);
  return label;
}

// Of glibc, musl and Go. Some of them are called by others of them, but by nothing else. Only the
// thread that has been made calls anything in clone().
bool is_start_function(std::string_view function, bool is_innermost) {
  constexpr std::array<std::string_view, 11> kNames = {"_start",
                                                       "_start_c",
                                                       "_dl_start_user",
                                                       "__libc_start_main",
                                                       "__libc_start_main_impl",
                                                       "__libc_start_call_main",
                                                       "libc_start_main_stage2",
                                                       "start_thread",
                                                       "runtime.goexit",
                                                       "runtime.mstart",
                                                       "runtime.rt0_go"};
  constexpr std::array<std::string_view, 4> kClones = {"clone", "clone3", "__clone", "__clone3"};
  constexpr std::string_view kLocal = "__GI_";     // glibc's own name of a function
  constexpr std::string_view kAssembly = ".abi0";  // Go's name of a function in assembly language
  function = function.substr(0, function.find('@'));
  if (function.starts_with(kLocal)) function.remove_prefix(kLocal.size());
  if (function.ends_with(kAssembly)) function.remove_suffix(kAssembly.size());
  return std::ranges::find(kNames, function) != kNames.end() ||
         (!is_innermost && std::ranges::find(kClones, function) != kClones.end());
}

// Of x86-64: arch/x86/include/asm/idtentry.h, and the labels in the entry of an NMI.
bool is_interrupt_entry(std::string_view function) {
  constexpr std::array<std::string_view, 7> kBeginnings = {
      "asm_sysvec_", "asm_exc_",   "asm_common_interrupt", "asm_spurious_interrupt",
      "asm_fred_",   "repeat_nmi", "end_repeat_nmi"};
  return std::ranges::any_of(kBeginnings, [function](std::string_view beginning) {
    return function.starts_with(beginning);
  });
}

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
