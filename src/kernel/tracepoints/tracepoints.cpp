// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/tracepoints/tracepoints.h"

#include <bpf/bpf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>

#include "base/text/suggest.h"
#include "kernel/programs/kernel_btf.h"
#include "kernel/tracepoints/print_text.h"

namespace ktraced {
namespace {

// A perf event that counts nothing and only carries the program. The kernel runs the program on all
// CPUs, whichever CPU the event is for.
Fd open_perf_event(uint64_t tracepoint) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.size = sizeof(attr);
  attr.config = tracepoint;
  attr.sample_period = 1;
  attr.disabled = 1;
  return Fd(
      static_cast<int>(::syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC)));
}

std::unexpected<Error> cannot_attach(const std::string& name, int error) {
  return fail(ExitCode::unavailable, "cannot attach to tracepoint {}: {}", name, errno_text(error));
}

// A program of a few instructions that tail-calls the one of all tracepoints in the map `programs`.
// The kernel counts missed hits per program, so each event with its own count needs its own
// program. Verifying this one takes microseconds; a copy of the program itself took tens of
// milliseconds.
Result<Fd> load_stub(int programs) {
  constexpr uint8_t kLoadWide = BPF_LD | BPF_IMM | BPF_DW, kMove = BPF_ALU64 | BPF_MOV | BPF_K;
  // The context is in register 1 already.
  const std::array<bpf_insn, 6> code = {{
      {.code = kLoadWide, .dst_reg = BPF_REG_2, .src_reg = BPF_PSEUDO_MAP_FD, .imm = programs},
      {},  // upper half of the load
      {.code = kMove, .dst_reg = BPF_REG_3, .imm = DYNAMIC_PROGRAM_TRACEPOINT},
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

}  // namespace

Result<std::vector<std::string>> Tracepoints::all() {
  auto tracefs = Tracefs::open();
  if (!tracefs) return propagate(tracefs);
  return tracefs->tracepoints();
}

Tracepoints::Kept Tracepoints::keep_formats() {
  auto kept = kept_.lock();
  if (!kept) kept_ = kept = std::make_shared<KeptFormats>();
  return kept;
}

void Tracepoints::drop_formats() {
  if (const auto kept = kept_.lock()) {
    kept->names.reset();
    kept->formats.clear();
  }
}

Result<std::vector<std::string>> Tracepoints::names() const {
  const auto kept = kept_.lock();
  if (kept && kept->names) return *kept->names;
  auto names = all();
  if (kept && names) kept->names = *names;
  return names;
}

Result<std::vector<std::string>> Tracepoints::matching(std::string_view pattern) const {
  auto all_names = names();
  return all_names ? matching(*all_names, pattern) : all_names;
}

Result<std::vector<std::string>> Tracepoints::matching(const std::vector<std::string>& names,
                                                       std::string_view pattern) {
  std::vector<std::string> found;
  std::ranges::copy_if(names, std::back_inserter(found),
                       [&](const std::string& name) { return matches_pattern(name, pattern); });
  if (!found.empty()) return found;
  std::set<std::string> known(names.begin(), names.end());
  for (const std::string& name : names) known.insert(name.substr(0, name.find(':')) + ":*");
  return fail(ExitCode::usage, "{}",
              unknown_name("tracepoint", pattern, known,
                           "'ktracectl events list GROUP:*' lists those of a group"));
}

Result<TracepointFormat> Tracepoints::format(std::string_view name) const {
  auto kept = kept_.lock();
  if (!kept) kept = std::make_shared<KeptFormats>();
  if (const auto known = kept->formats.find(name); known != kept->formats.end())
    return known->second;
  return kept->formats.emplace(name, read_format(name, *kept)).first->second;
}

Result<TracepointFormat> Tracepoints::read_format(std::string_view name, KeptFormats& kept) {
  const size_t colon = std::min(name.find(':'), name.size());
  const std::string system(name.substr(0, colon));
  auto tracefs = Tracefs::open();
  if (!tracefs) return propagate(tracefs);
  auto text = tracefs->format(system, std::string(name.substr(std::min(colon + 1, name.size()))));
  if (!text) return propagate(text);
  auto format = parse_tracepoint_format(system, *text);
  if (!format) return format;
  auto constant = [&](const std::string& word) -> std::optional<int64_t> {
    if (!kept.constants) kept.constants = kernel_enumerators();
    const auto found = kept.constants->find(word);
    if (found == kept.constants->end()) return std::nullopt;
    return found->second;
  };
  format->event.print = with_constants(format->event.print, constant);
  return format;
}

// The layout must match the current record: a module may have been reloaded with other fields.
Result<TracepointFormat> Tracepoints::set_layout(const DynamicEvent& event) {
  auto now = format(event.source);
  if (!now) return propagate(now);
  if (now->event.fields != event.event.fields)
    return fail(ExitCode::unavailable,
                "tracepoint {} has other fields than before: enable it again", event.source);
  const uint32_t id = event.event.id;
  if (bpf_map_update_elem(object_.map_fd("tracepoint_layouts"), &id, &now->layout, BPF_ANY) != 0)
    return fail(ExitCode::os, "cannot store the layout of tracepoint {}: {}", event.source,
                errno_text(errno));
  return now;
}

Result<> Tracepoints::prepare(const DynamicEvent& event) {
  auto stored = set_layout(event);
  return stored ? Result<>() : propagate(stored);
}

// Stubs that are loaded call it from now on.
Result<> Tracepoints::make_callable() {
  auto program = object_.program(kProgram);
  if (!program) return propagate(program);
  const uint32_t index = DYNAMIC_PROGRAM_TRACEPOINT;
  if (bpf_map_update_elem(object_.map_fd("dynamic_programs"), &index, &*program, BPF_ANY) != 0)
    return fail(ExitCode::os, "cannot make the program of tracepoints callable: {}",
                errno_text(errno));
  return {};
}

Result<Fd> Tracepoints::load(const DynamicEvent& /*event*/) {
  if (auto callable = make_callable(); !callable) return propagate(callable);
  return load_stub(object_.map_fd("dynamic_programs"));
}

Result<std::vector<Fd>> Tracepoints::attach(const DynamicEvent& event, int program) {
  auto now = set_layout(event);
  if (!now) return propagate(now);
  const Fd perf_event = open_perf_event(now->kernel_id);
  if (!perf_event) return cannot_attach(event.source, errno);
  LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event = {.bpf_cookie = event.event.id});
  std::vector<Fd> links;
  links.emplace_back(
      std::max(-1, bpf_link_create(program, perf_event.get(), BPF_PERF_EVENT, &options)));
  if (!links.back()) return cannot_attach(event.source, errno);
  return links;
}

}  // namespace ktraced
