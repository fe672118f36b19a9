// SPDX-License-Identifier: BSD-2-Clause
// Prints the work of the running kernel's verifier for each built-in program, for the programs of a
// few probes, and for those that record events with stacks (stacked_…), one line each:
//
//   PROGRAM INSTRUCTIONS STATES
//
// INSTRUCTIONS are those it processed, STATES those it kept in total. Programs that this kernel
// refuses or has no hook for are left out.
#include <bpf/libbpf.h>

#include <cstdio>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "kernel/probes/probe_compiler.h"
#include "kernel/probes/probe_grammar.h"
#include "kernel/probes/probe_program.h"
#include "kernel/programs/bpf_loader.h"
#include "kernel/programs/features.h"
#include "schema/schema_from_btf.h"

namespace {

using namespace ktraced;

constexpr unsigned kStatisticsOnly = 4;  // BPF_LOG_STATS of the kernel's verifier
constexpr size_t kLogBytes = 64 << 10;

using Log = std::vector<char>;

void ask_for_statistics(bpf_program* program, Log& log) {
  log.assign(kLogBytes, '\0');
  bpf_program__set_log_level(program, kStatisticsOnly);
  bpf_program__set_log_buf(program, log.data(), log.size());
}

// "processed 118 insns (limit 1000000) max_states_per_insn 1 total_states 9 peak_states 9 …"
void print(const std::string& program, const Log& log) {
  static const std::regex pattern("processed ([0-9]+) insns.* total_states ([0-9]+)");
  std::cmatch match;
  if (std::regex_search(log.data(), match, pattern))
    std::printf("%s %s %s\n", program.c_str(), match[1].str().c_str(), match[2].str().c_str());
}

Result<> report_events(const KernelFeatures& features) {
  std::map<std::string, Log> logs;
  auto left_out = features.unavailable;
  Result<> prepared;
  const Fd arena = features.flags.arena != 0 ? make_arena_map().value_or(Fd()) : Fd();
  if (!arena)
    for (const char* program : kArenaPrograms) left_out.emplace(program, "there is no arena");
  auto object = load_bpf_object(features.flags, {}, left_out, [&](bpf_object* loading) {
    if (arena) prepared = use_arena(loading, arena, {});
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, loading)
        ask_for_statistics(program, logs[bpf_program__name(program)]);
  });
  if (!object) return propagate(object);
  if (!prepared) return prepared;
  for (const auto& [program, log] : logs) print(program, log);
  return {};
}

// The verifier's work depends on what a probe fetches: one that fetches nothing, one of each kind
// of value, and one of about the maximal length.
struct Sample {
  const char* name;
  const char* definition;
  ProbeHook hook = ProbeHook::one_by_one;
};
constexpr Sample kSamples[] = {
    {"probe_of_nothing", "p f"},
    {"probe_of_all_kinds",
     "p f a=$arg1:u32 b=%ip:x64 c=+8(+16($arg1)):s16 d=+0($arg2):ustring e=+0($arg3):string "
     "g=+4($arg1):b3@5/32 h=+0($stack):u64[8] i=$comm j=\\42"},
    {"probe_of_all_kinds_multi",
     "p:many f* a=$arg1:u32 b=%ip:x64 c=+8(+16($arg1)):s16 d=+0($arg2):ustring "
     "e=+0($arg3):string g=+4($arg1):b3@5/32 h=+0($stack):u64[8] i=$comm j=\\42",
     ProbeHook::multi},
    {"probe_of_many_texts",
     "p f a=+0($arg1):string b=+0($arg2):string c=+0($arg3):ustring d=+0($arg4):ustring "
     "e=+8(+0($arg1)):string g=+8(+0($arg2)):string h=+8(+0($arg3)):string "
     "i=+8(+0($arg4)):string j=+16(+8(+0($arg1))):string k=+16(+8(+0($arg2))):string"},
};

Result<> report_probe(const BpfObject& object, const Sample& sample) {
  auto command = parse_probe_line(sample.definition);
  if (!command) return fail(ExitCode::software, "{}: {}", sample.name, command.error().message);
  auto compiled = compile_probe(std::get<ProbeDefinition>(*command), {});
  if (!compiled) return propagate(compiled);
  Log log;
  auto program =
      load_probe_program(object, compiled->program, sample.hook,
                         [&](bpf_program* loading) { ask_for_statistics(loading, log); });
  if (program) print(sample.name, log);
  return {};
}

// Each by itself, as the daemon loads it when a session asks for the stacks of its event.
Result<> report_stacked(const BpfObject& object, const std::string& name) {
  auto opened = open_beside(stack_object_bytes(), object);
  if (!opened) return propagate(opened);
  bpf_program* program = bpf_object__find_program_by_name(opened->get(), name.c_str());
  bpf_map* map = bpf_object__find_map_by_name(opened->get(), "stack_cpus");
  if (program == nullptr || map == nullptr || !set_type_beside(program, object) ||
      bpf_program__set_autoload(program, true) != 0 || bpf_map__set_max_entries(map, 1) != 0)
    return {};
  Log log;
  ask_for_statistics(program, log);
  if (bpf_object__load(opened->get()) == 0) print(name, log);
  return {};
}

Result<> run() {
  auto schema = schema_from_object(bpf_object_bytes());
  if (!schema) return propagate(schema);
  auto features = probe_features(*schema);
  if (!features) return propagate(features);
  // As BpfObject::load(). The arenas of some kernels need cmpxchg16b, which these machines lack.
  if (features->flags.arena != 0 && !make_arena_map()) features->flags.arena = 0;
  if (auto done = report_events(*features); !done) return done;
  auto object = BpfObject::load(*schema, *features, {});
  if (!object) return propagate(object);
  for (const Sample& sample : kSamples)
    if (auto done = report_probe(*object, sample); !done) return done;
  auto stacked = programs_in(stack_object_bytes());
  if (!stacked) return propagate(stacked);
  for (const std::string& name : *stacked)
    if (auto done = report_stacked(*object, name); !done) return done;
  return {};
}

}  // namespace

int main() {
  auto done = run();
  if (done) return 0;
  std::fprintf(stderr, "verifier_stats: %s\n", done.error().message.c_str());
  return static_cast<int>(done.error().code);
}
