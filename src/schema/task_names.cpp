// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <array>

#include "bpf/records.h"
#include "schema/names.h"

namespace ktraced {

namespace {

static_assert(kCommBytes == COMM_LEN - 1);

// TASK_REPORT_MAX of the kernel's sched_switch: the thread was preempted.
constexpr uint32_t kPreempted = 0x100;

// Bits 0 … 7 of a reported task state, from include/trace/events/sched.h.
constexpr std::string_view kStateLetters = "SDTtXZPI";

constexpr uint64_t kExitSignalMask = 0x7f;  // bit 0x80 is CLONE_NEWTIME

struct ContextNames {
  std::string_view name;
  uint8_t flags = 0;  // enum trace_flag_type of the kernel's include/linux/trace_events.h
  char letter = '.';  // trace_print_lat_fmt() of its kernel/trace/trace_output.c
};
constexpr uint8_t kHardirq = 0x08, kSoftirq = 0x10, kNmi = 0x40;
// By record_context.
constexpr std::array<ContextNames, 8> kContexts = {{{},
                                                    {"task"},
                                                    {"softirq", kSoftirq, 's'},
                                                    {"hardirq", kHardirq, 'h'},
                                                    {"hardirq", kHardirq | kSoftirq, 'H'},
                                                    {"nmi", kNmi | kHardirq, 'Z'},
                                                    {"nmi", kNmi | kHardirq | kSoftirq, 'Z'},
                                                    {"nmi", kNmi, 'z'}}};
static_assert(kContexts.size() == RECORD_CONTEXT + 1);

std::string signal_text(int32_t signal) {
  std::string_view name = signal_name(signal);
  return name.empty() ? fmt::format("signal {}", signal) : std::string(name);
}

}  // namespace

std::string comm_problem(std::string_view pattern) {
  const bool beginning = pattern.ends_with('*');
  if (beginning) pattern.remove_suffix(1);
  if (pattern.empty())
    return beginning ? "'*' alone matches every task: leave it out" : "must not be empty";
  if (pattern.size() > kCommBytes)
    return fmt::format("is longer than the {} bytes the kernel keeps of a task's name", kCommBytes);
  return pattern.contains('*') ? "'*' is possible only at the end" : "";
}

bool comm_matches(std::string_view comm, std::string_view pattern) {
  if (pattern.ends_with('*')) return comm.starts_with(pattern.substr(0, pattern.size() - 1));
  return comm == pattern;
}

std::string_view sample_mode_name(uint32_t mode) {
  constexpr std::array<std::string_view, SAMPLE_KERNEL_THREAD + 1> kModes = {
      "", "user", "kernel", "idle", "guest", "kernel_thread"};
  return mode < kModes.size() ? kModes[mode] : "";
}

std::string_view context_name(uint32_t context) { return kContexts[context & RECORD_CONTEXT].name; }

uint8_t context_flags(uint32_t context) { return kContexts[context & RECORD_CONTEXT].flags; }

char context_letter(uint32_t context) { return kContexts[context & RECORD_CONTEXT].letter; }

std::string task_state_letters(uint32_t state) {
  std::string letters;
  for (size_t bit = 0; bit < kStateLetters.size(); bit++) {
    if ((state >> bit & 1) == 0) continue;
    if (!letters.empty()) letters += '|';
    letters += kStateLetters[bit];
  }
  if (letters.empty()) letters += 'R';
  if ((state & kPreempted) != 0) letters += '+';
  return letters;
}

ExitStatus decode_exit_code(int32_t exit_code) {
  return {
      .status = exit_code >> 8 & 0xff, .signal = exit_code & 0x7f, .core = (exit_code & 0x80) != 0};
}

std::string exit_code_text(int32_t exit_code) {
  ExitStatus end = decode_exit_code(exit_code);
  if (end.signal == 0) return fmt::format("exit {}", end.status);
  return signal_text(end.signal) + (end.core ? ", core dumped" : "");
}

// From include/uapi/linux/sched.h.
const std::vector<FlagName>& clone_flag_table() {
  static const std::vector<FlagName> flags = {
      {0x80, "CLONE_NEWTIME"},
      {0x100, "CLONE_VM"},
      {0x200, "CLONE_FS"},
      {0x400, "CLONE_FILES"},
      {0x800, "CLONE_SIGHAND"},
      {0x1000, "CLONE_PIDFD"},
      {0x2000, "CLONE_PTRACE"},
      {0x4000, "CLONE_VFORK"},
      {0x8000, "CLONE_PARENT"},
      {0x10000, "CLONE_THREAD"},
      {0x20000, "CLONE_NEWNS"},
      {0x40000, "CLONE_SYSVSEM"},
      {0x80000, "CLONE_SETTLS"},
      {0x100000, "CLONE_PARENT_SETTID"},
      {0x200000, "CLONE_CHILD_CLEARTID"},
      {0x400000, "CLONE_DETACHED"},
      {0x800000, "CLONE_UNTRACED"},
      {0x1000000, "CLONE_CHILD_SETTID"},
      {0x2000000, "CLONE_NEWCGROUP"},
      {0x4000000, "CLONE_NEWUTS"},
      {0x8000000, "CLONE_NEWIPC"},
      {0x10000000, "CLONE_NEWUSER"},
      {0x20000000, "CLONE_NEWPID"},
      {0x40000000, "CLONE_NEWNET"},
      {0x80000000, "CLONE_IO"},
      {0x100000000, "CLONE_CLEAR_SIGHAND"},
      {0x200000000, "CLONE_INTO_CGROUP"},
  };
  return flags;
}

std::string clone_flag_names(uint64_t flags) {
  std::string names = flag_names(flags & ~kExitSignalMask, clone_flag_table());
  auto exit_signal = static_cast<int32_t>(flags & kExitSignalMask);
  if (exit_signal == 0) return names;
  return names + (names.empty() ? "" : "|") + signal_text(exit_signal);
}

}  // namespace ktraced
