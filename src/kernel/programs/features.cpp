// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/programs/features.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <optional>
#include <tuple>

#include "base/error.h"
#include "base/fd.h"
#include "base/files/namespaces.h"
#include "kernel/arena/arena.h"
#include "kernel/programs/kernel_btf.h"

namespace ktraced {

namespace {

// A prototype that a tracepoint has or had, and the features it implies. A kernel may append
// arguments to a prototype: the longest match counts.
struct Form {
  std::string_view tracepoint;
  std::string_view arguments;  // as tracepoint_arguments() writes them
  void (*mark)(features& flags);
};

// Only tracepoints with several prototypes; any other tracepoint only has to exist.
constexpr Form kForms[] = {
    {"sched_switch", "int, task_struct*, task_struct*", [](features&) {}},
    {"sched_switch", "int, task_struct*, task_struct*, int",
     [](features& flags) { flags.task_state_is_arg = 1; }},
    {"sched_process_exit", "task_struct*", [](features&) {}},
    {"sched_process_exit", "task_struct*, int",
     [](features& flags) { flags.exit_has_group_dead = 1; }},
    {"kmalloc", "int, void*, int, int, int", [](features&) {}},
    {"kmalloc", "int, void*, int, int, int, int",
     [](features& flags) { flags.kmalloc_has_node = 1; }},
    {"kmalloc", "int, void*, kmem_cache*, int, int, int",
     [](features& flags) { flags.alloc_has_extra_cache = 1; }},
    {"kmem_cache_alloc", "int, void*, int, int, int", [](features&) {}},
    {"kmem_cache_alloc", "int, void*, kmem_cache*, int, int, int",
     [](features& flags) { flags.alloc_has_extra_cache = 1; }},
    {"kmem_cache_alloc", "int, void*, kmem_cache*, int, int",
     [](features& flags) { flags.cache_alloc_is_cache = 1; }},
    {"kmem_cache_free", "int, void*", [](features&) {}},
    {"kmem_cache_free", "int, void*, char*",
     [](features& flags) { flags.cache_free_arg = CACHE_FREE_NAME; }},
    {"kmem_cache_free", "int, void*, kmem_cache*",
     [](features& flags) { flags.cache_free_arg = CACHE_FREE_CACHE; }},
    {"mark_victim", "int", [](features&) {}},
    {"mark_victim", "task_struct*", [](features& flags) { flags.victim_is_task = 1; }},
};

// The tracepoint of an event: that of its name, for most.
std::string_view tracepoint_of_event(std::string_view event) {
  constexpr std::string_view kStrings = "_string";
  if (event == "sys_enter_string" || event == "sys_exit_string")
    event.remove_suffix(kStrings.size());
  if (event == "sys_completed") return "sys_exit";
  return event;
}

bool begins_with(std::string_view arguments, std::string_view form) {
  return arguments.starts_with(form) &&
         (arguments.size() == form.size() || arguments[form.size()] == ',');
}

// The BTF type of a tracepoint like "kmalloc": "btf_trace_kmalloc", a pointer to the function type
// of programs attached there.
int tracepoint_type(const btf* btf, std::string_view name) {
  std::string type_name = "btf_trace_" + std::string(name);
  return btf__find_by_name_kind(btf, type_name.c_str(), BTF_KIND_TYPEDEF);
}

std::string argument_kind(const btf* btf, uint32_t id) {
  const btf_type* type = bare_type(btf, id);
  if (type == nullptr) return "?";
  if (btf_is_int(type) || btf_is_any_enum(type)) return "int";
  if (!btf_is_ptr(type)) return "?";
  const btf_type* target = bare_type(btf, type->type);
  if (target == nullptr) return "?";
  if (btf_is_void(target)) return "void*";
  return std::string(btf__name_by_offset(btf, target->name_off)) + "*";
}

// Sets the features of one tracepoint; false if it has an unknown prototype.
bool mark_form(std::string_view name, std::string_view arguments, features& flags) {
  const Form* best = nullptr;
  bool has_forms = false;
  for (const Form& form : kForms) {
    if (form.tracepoint != name) continue;
    has_forms = true;
    bool is_longer = best == nullptr || form.arguments.size() > best->arguments.size();
    if (is_longer && begins_with(arguments, form.arguments)) best = &form;
  }
  if (best != nullptr) best->mark(flags);
  return best != nullptr || !has_forms;
}

bool can_turn_preemption_off(const btf* btf) {
  return std::ranges::all_of(
      std::array{"bpf_preempt_disable", "bpf_preempt_enable", "bpf_local_irq_save",
                 "bpf_local_irq_restore"},
      [btf](const char* name) { return btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) > 0; });
}

constexpr std::array kReturnZero = {
    bpf_insn{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
    bpf_insn{.code = BPF_JMP | BPF_EXIT}};

// Can typed tracepoint programs be loaded? Some machines forbid them.
bool takes_typed_programs(const btf* btf) {
  const int tracepoint = tracepoint_type(btf, "sched_switch");
  if (tracepoint < 0) return false;
  LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_RAW_TP,
              .attach_btf_id = static_cast<uint32_t>(tracepoint));
  const Fd program(bpf_prog_load(BPF_PROG_TYPE_TRACING, "typed", "Dual BSD/GPL", kReturnZero.data(),
                                 kReturnZero.size(), &options));
  // Other errors are transient, and must not change the features: that would replace the programs
  // of an earlier daemon.
  return program || (errno != EPERM && errno != EACCES && errno != EINVAL);
}

bool has_variable(const btf* btf, const char* name) {
  return btf__find_by_name_kind(btf, name, BTF_KIND_VAR) > 0;
}

// Bits of the count were moved together with the nesting of NMIs to a variable of its own, or when
// the count got 64 bits: "preempt: Introduce HARDIRQ_DISABLE_BITS" (7.3).
bool is_wide(const btf* btf) {
  const int variable = btf__find_by_name_kind(btf, "__preempt_count", BTF_KIND_VAR);
  return has_variable(btf, "nmi_nesting") ||
         btf__resolve_size(btf, static_cast<uint32_t>(variable)) > __s64{sizeof(uint32_t)};
}

preempt_count_source find_preempt_count(const btf* btf) {
  if (has_variable(btf, "__preempt_count"))
    return is_wide(btf) ? PREEMPT_COUNT_WIDE : PREEMPT_COUNT_VARIABLE;
  return has_variable(btf, "pcpu_hot") ? PREEMPT_COUNT_HOT : PREEMPT_COUNT_UNKNOWN;
}

// 0 if a program may read a variable that the kernel's BTF has, else an errno. The verifier takes
// its address from the kernel's symbols, which have none of data without CONFIG_KALLSYMS_ALL.
int error_of_variable(const btf* btf, const char* name) {
  const int variable = btf__find_by_name_kind(btf, name, BTF_KIND_VAR);
  const std::array instructions = {
      bpf_insn{.code = BPF_LD | BPF_DW | BPF_IMM,
               .dst_reg = BPF_REG_1,
               .src_reg = BPF_PSEUDO_BTF_ID,
               .imm = variable},
      bpf_insn{}, bpf_insn{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_this_cpu_ptr},
      kReturnZero[0], kReturnZero[1]};
  const Fd program(bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "variable", "Dual BSD/GPL",
                                 instructions.data(), instructions.size(), nullptr));
  return program ? 0 : errno;
}

// Sets where programs read the context of a record, or why they do not. Fails with ExitCode::os if
// it cannot be found out now: another answer would replace the programs of an earlier daemon.
Result<> set_contexts(const btf* btf, KernelFeatures& found) {
  u8& source = found.flags.preempt_count;
  std::string reason = "this kernel's BTF has neither __preempt_count nor pcpu_hot";
  if (source != PREEMPT_COUNT_UNKNOWN) {
    const char* name = source == PREEMPT_COUNT_HOT ? "pcpu_hot" : "__preempt_count";
    const int error = error_of_variable(btf, name);
    if (error == 0) return {};
    if (is_transient(error))
      return fail(ExitCode::os, "cannot load a BPF program: {}", errno_text(error));
    source = PREEMPT_COUNT_UNKNOWN;
    reason = fmt::format(
        "this kernel lets no program read its variable {}: {} (it needs CONFIG_KALLSYMS_ALL)", name,
        errno_text(error));
  }
  found.unknown["contexts of events"] = reason;
  return {};
}

// Can a program be attached to the return of this function?
bool takes_programs_on(const btf* btf, const char* name) {
  const int function = btf__find_by_name_kind(btf, name, BTF_KIND_FUNC);
  if (function < 0) return false;
  LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FEXIT,
              .attach_btf_id = static_cast<uint32_t>(function));
  const Fd program(bpf_prog_load(BPF_PROG_TYPE_TRACING, "on_function", "Dual BSD/GPL",
                                 kReturnZero.data(), kReturnZero.size(), &options));
  if (program && Fd(bpf_raw_tracepoint_open(nullptr, program.get()))) return true;
  // Transient errors must not change the features: that would replace the programs of an earlier
  // daemon.
  return is_transient(errno);
}

// "6.1.0-13-amd64" → 6, 1; nothing for any other text.
std::optional<std::pair<unsigned, unsigned>> version_of(std::string_view release) {
  unsigned major = 0, minor = 0;
  const char* begin = release.data();
  const char* end = begin + release.size();
  auto first = std::from_chars(begin, end, major);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '.') return std::nullopt;
  auto second = std::from_chars(first.ptr + 1, end, minor);
  if (second.ec != std::errc{}) return std::nullopt;
  return std::pair(major, minor);
}

// Programs read the clock without the offset of a time namespace. The times of events and those of
// the daemon would not agree.
Result<> check_clock() {
  const auto offset_ns = boottime_offset_ns();
  if (offset_ns == 0) return {};
  return fail(ExitCode::unavailable,
              "ktraced runs in a time namespace that moves the time since boot by {}, which the "
              "times of events do not follow: run it in the time namespace of the host",
              offset_ns ? fmt::format("{:.3f} s", static_cast<double>(*offset_ns) / 1e9)
                        : "a time that the kernel does not say");
}

}  // namespace

std::string tracepoint_arguments(const btf* btf, std::string_view name) {
  int id = tracepoint_type(btf, name);
  if (id < 0) return {};
  const btf_type* pointer = bare_type(btf, static_cast<uint32_t>(id));
  if (pointer == nullptr || !btf_is_ptr(pointer)) return {};
  const btf_type* function = bare_type(btf, pointer->type);
  if (function == nullptr || !btf_is_func_proto(function)) return {};
  std::string arguments;
  // The first parameter is the probe's own data, which programs do not see.
  for (int i = 1; i < btf_vlen(function); i++) {
    if (i > 1) arguments += ", ";
    arguments += argument_kind(btf, btf_params(function)[i].type);
  }
  return arguments;
}

KernelFeatures features_from_btf(const btf* btf, const Schema& schema) {
  KernelFeatures found;
  // 6.1: programs read in it what a process has mapped.
  if (btf__find_by_name_kind(btf, "maple_tree", BTF_KIND_STRUCT) < 0)
    found.unknown["files of user stacks"] =
        "this kernel keeps what processes have mapped in another form than kernels since 6.1";
  // The guard of tracepoints since "tracing: Guard __DECLARE_TRACE() use of __DO_TRACE_CALL() with
  // SRCU-fast", which no longer turns preemption off.
  found.flags.preemptible =
      btf__find_by_name_kind(btf, "class_srcu_fast_notrace_t", BTF_KIND_TYPEDEF) > 0 ? 1 : 0;
  found.flags.rdonly_cast = btf__find_by_name_kind(btf, "bpf_rdonly_cast", BTF_KIND_FUNC) > 0;
  found.flags.running_readable = found.flags.rdonly_cast != 0 && found.flags.preemptible == 0;
  found.flags.preempt_count = find_preempt_count(btf);
  found.flags.preemption_kfuncs = can_turn_preemption_off(btf) ? 1 : 0;
  if (found.flags.preemptible != 0 && found.flags.preemption_kfuncs == 0)
    found.unknown["stacks of the kernel"] =
        "this kernel can preempt programs, and has no bpf_preempt_disable() for them";
  for (const Event& event : schema.events()) {
    if (event.id == EVENT_cpu_sample) continue;  // it has perf events
    const std::string_view tracepoint = tracepoint_of_event(event.name);
    if (tracepoint_type(btf, tracepoint) < 0) {
      found.unavailable[event.name] = fmt::format("this kernel has no tracepoint {}", tracepoint);
      continue;
    }
    std::string arguments = tracepoint_arguments(btf, tracepoint);
    if (!mark_form(tracepoint, arguments, found.flags))
      found.unavailable[event.name] =
          fmt::format("this kernel's tracepoint {} has arguments of an unknown form ({})",
                      tracepoint, arguments);
  }
  return found;
}

bool may_load_programs() {
  const Fd program(bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "allowed", "Dual BSD/GPL",
                                 kReturnZero.data(), kReturnZero.size(), nullptr));
  return program || (errno != EPERM && errno != EACCES);
}

Result<> check_release(std::string_view release) {
  constexpr std::pair kFloor(5U, 15U);
  auto version = version_of(release);
  if (version && *version < kFloor)
    return fail(ExitCode::unavailable, "this kernel is {}: ktraced needs 5.15 or newer", release);
  return {};
}

Result<KernelFeatures> probe_features(const Schema& schema) {
  if (auto checked = check_clock(); !checked) return propagate(checked);
  utsname system{};
  ::uname(&system);
  if (auto checked = check_release(system.release); !checked) return propagate(checked);
  auto btf = load_kernel_btf();
  if (!btf) return propagate(btf);
  KernelFeatures found = features_from_btf(btf->get(), schema);
  if (libbpf_num_possible_cpus() > CATCHER_CPUS) found.flags.running_readable = 0;
  if (auto set = set_contexts(btf->get(), found); !set) return propagate(set);
  found.flags.typed_programs = takes_typed_programs(btf->get()) ? 1 : 0;
  found.flags.users_at_returns = takes_programs_on(btf->get(), "commit_creds") ? 0 : 1;
  if (tracepoint_type(btf->get(), "sched_prepare_exec") < 0)
    found.flags.exec_at_function = takes_programs_on(btf->get(), "begin_new_exec") ? 1 : 0;
  // Beyond, its table of stream rings has not enough room.
  const bool has_room = libbpf_num_possible_cpus() * SESSIONS_MAX <= ARENA_PLACES_MAX;
  found.flags.arena = has_room && kernel_has_arenas() ? 1 : 0;
  return found;
}

}  // namespace ktraced
