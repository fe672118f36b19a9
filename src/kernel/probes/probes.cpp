// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/probes/probes.h"

#include <bpf/btf.h>

#include <algorithm>
#include <utility>

#include "kernel/probes/probe_grammar.h"
#include "kernel/programs/kernel_btf.h"

namespace ktraced {
namespace {

struct KernelTypes {
  BtfPtr kernel, module;
};

// The types of the kernel and, if it is not empty, of a module.
Result<KernelTypes> types_of(const std::string& module) {
  KernelTypes types;
  auto kernel = load_kernel_btf();
  if (!kernel) return propagate(kernel);
  types.kernel = std::move(*kernel);
  if (module.empty()) return types;
  const std::string file = "/sys/kernel/btf/" + module;
  types.module.reset(btf__parse_split(file.c_str(), types.kernel.get()));
  if (!types.module)
    return fail(ExitCode::unavailable, "the module {} has no type information ({}): {}", module,
                file, errno_text(errno));
  return types;
}

std::unexpected<Error> at_place(const ProbeDefinition& probe, const Error& error) {
  return fail(error.code, "column {}: {}", probe.location.column, error.message);
}

}  // namespace

Result<ProbeDefinition> probe_of(const DynamicEvent& event) {
  auto command = parse_probe_line(event.source);
  if (command && std::holds_alternative<ProbeDefinition>(*command))
    return std::get<ProbeDefinition>(std::move(*command));
  return fail(ExitCode::software, "'{}' is not a definition of a probe", event.source);
}

Probes::LookUp Probes::look_up(const ProbeDefinition& probe) const {
  return {.functions = find_functions(probe),
          .compiled = find_program(probe),
          .hook = find_hook(probe)};
}

std::shared_ptr<const Probes::LookUp> Probes::kept(const ProbeDefinition& probe) const {
  const Kept known = kept_.lock();
  if (!known) return nullptr;
  const auto found = known->find(text_of(probe));
  return found == known->end() ? nullptr : std::shared_ptr<const LookUp>(known, &found->second);
}

Result<std::vector<KernelFunction>> Probes::functions_of(const ProbeDefinition& probe) const {
  const auto known = kept(probe);
  return known ? known->functions : find_functions(probe);
}

Result<CompiledProbe> Probes::compile(const ProbeDefinition& probe) const {
  const auto known = kept(probe);
  return known ? known->compiled : find_program(probe);
}

ProbeHook Probes::hook_of(const ProbeDefinition& probe) const {
  const auto known = kept(probe);
  return known ? known->hook : find_hook(probe);
}

Result<std::vector<KernelFunction>> Probes::find_functions(const ProbeDefinition& probe) const {
  const ProbeLocation& place = probe.location;
  if (place.symbol.empty())
    return std::vector{KernelFunction{.name = {}, .module = {}, .address = place.address}};
  if (place.is_pattern()) {
    auto found = symbols_.functions(place.module, place.symbol);
    if (!found) return at_place(probe, found.error());
    return found;
  }
  auto function = symbols_.function(place.module, place.symbol);
  if (!function) return at_place(probe, function.error());
  if (place.offset >= 0 && static_cast<uint64_t>(place.offset) >= function->size)
    return at_place(
        probe, {ExitCode::usage, fmt::format("{} has {} bytes: +{} is beyond its end", place.symbol,
                                             function->size, place.offset)});
  function->address += static_cast<uint64_t>(place.offset);
  return std::vector{std::move(*function)};
}

Result<CompiledProbe> Probes::find_program(const ProbeDefinition& probe) const {
  KernelTypes types;  // must outlive the compiler
  auto function = [&]() -> Result<BtfFunction> {
    auto functions = find_functions(probe);
    if (!functions) return propagate(functions);
    auto loaded = types_of(functions->front().module);
    if (!loaded) return propagate(loaded);
    types = std::move(*loaded);
    return BtfFunction::find(types.module ? types.module.get() : types.kernel.get(),
                             probe.location.symbol);
  };
  return compile_probe(
      probe, {.symbol = [this](const std::string& name) { return symbols_.address_of(name); },
              .function = function});
}

Result<Event> Probes::event_of(const ProbeDefinition& probe) const {
  if (const std::string reason = unavailable(); !reason.empty())
    return fail(ExitCode::unavailable, "{}", reason);
  auto functions = functions_of(probe);
  if (!functions) return propagate(functions);
  auto compiled = compile(probe);
  if (!compiled) return propagate(compiled);
  return std::move(compiled->event);
}

// Offsets may differ in another kernel, or in a module that was loaded again.
Result<> Probes::prepare(const DynamicEvent& event) {
  auto probe = probe_of(event);
  if (!probe) return propagate(probe);
  if (auto places = places_of(event.event.id, *probe); !places) return propagate(places);
  auto compiled = compile(*probe);
  if (!compiled) return propagate(compiled);
  if (compiled->event.fields != event.event.fields)
    return fail(ExitCode::unavailable, "probe {} has other fields than before: add it again",
                event.event.name);
  return {};
}

Result<std::vector<KernelFunction>> Probes::places_of(uint16_t id, const ProbeDefinition& probe) {
  auto functions = functions_of(probe);
  if (!functions) return functions;
  std::set<std::string>& modules = modules_[id];
  modules.clear();
  for (const KernelFunction& function : *functions)
    if (!function.module.empty()) modules.insert(function.module);
  return functions;
}

const std::set<std::string>& Probes::modules(uint16_t id) const {
  static const std::set<std::string> kNone;
  const auto found = modules_.find(id);
  return found == modules_.end() ? kNone : found->second;
}

ProbeHook Probes::find_hook(const ProbeDefinition& probe) const {
  if (!probe.location.is_pattern()) return ProbeHook::one_by_one;
  // The kernel's implementation of kprobe.multi.
  return symbols_.functions("", "register_fprobe_ips") ? ProbeHook::multi : ProbeHook::one_by_one;
}

Result<Fd> Probes::load(const DynamicEvent& event) {
  auto probe = probe_of(event);
  if (!probe) return propagate(probe);
  auto compiled = compile(*probe);
  if (!compiled) return propagate(compiled);
  compiled->program.id = event.event.id;
  return load_probe_program(object_, compiled->program, hook_of(*probe));
}

Result<std::vector<Fd>> Probes::attach(const DynamicEvent& event, int program) {
  auto probe = probe_of(event);
  if (!probe) return propagate(probe);
  auto functions = places_of(event.event.id, *probe);
  if (!functions) return propagate(functions);
  if (probe->location.is_pattern()) {
    auto links = attach_pattern(event.event.id, *probe, program, *functions);
    if (links) misses_known_ = kprobe_misses(links->front()).has_value();
    return links;
  }
  auto link = link_kprobe(program, functions->front().address, probe->at_return);
  if (!link)
    return fail(link.error().code, "{} cannot be probed: {}", text_of(probe->location),
                link.error().message);
  misses_known_ = kprobe_misses(*link).has_value();
  std::vector<Fd> links;
  links.push_back(std::move(*link));
  return links;
}

}  // namespace ktraced
