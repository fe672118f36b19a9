// What the running kernel's verifier had to do for each of the built-in programs, a line each:
//
//   PROGRAM INSTRUCTIONS STATES
//
// instructions it processed and states it kept in total. A program that this kernel refuses or
// has no hook for is missing.
#include <bpf/libbpf.h>

#include <cstdio>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "kernel/bpf_loader.h"
#include "kernel/features.h"
#include "schema/schema_from_btf.h"

namespace {

using namespace ktraced;

constexpr unsigned kStatisticsOnly = 4;  // BPF_LOG_STATS of the kernel's verifier
constexpr size_t kLogBytes = 64 << 10;

using Logs = std::map<std::string, std::vector<char>>;  // by program

void ask_for_statistics(bpf_object* object, Logs& logs) {
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) {
    std::vector<char>& log = logs[bpf_program__name(program)];
    log.assign(kLogBytes, '\0');
    bpf_program__set_log_level(program, kStatisticsOnly);
    bpf_program__set_log_buf(program, log.data(), log.size());
  }
}

// "processed 118 insns (limit 1000000) max_states_per_insn 1 total_states 9 peak_states 9 …"
void print(const std::string& program, const std::vector<char>& log) {
  static const std::regex pattern("processed ([0-9]+) insns.* total_states ([0-9]+)");
  std::cmatch match;
  if (std::regex_search(log.data(), match, pattern))
    std::printf("%s %s %s\n", program.c_str(), match[1].str().c_str(), match[2].str().c_str());
}

Result<> run() {
  auto schema = schema_from_object(bpf_object_bytes());
  if (!schema) return pass_on(schema);
  auto features = probe_features(*schema);
  if (!features) return pass_on(features);
  Logs logs;
  auto object = load_bpf_object(features->flags, {}, features->unavailable,
                                [&](bpf_object* loading) { ask_for_statistics(loading, logs); });
  if (!object) return pass_on(object);
  for (const auto& [program, log] : logs) print(program, log);
  return {};
}

}  // namespace

int main() {
  auto done = run();
  if (done) return 0;
  std::fprintf(stderr, "verifier_stats: %s\n", done.error().message.c_str());
  return static_cast<int>(done.error().code);
}
