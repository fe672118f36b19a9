// SPDX-License-Identifier: BSD-2-Clause
// Kernel probes as events.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernel/probes/probe_compiler.h"
#include "kernel/probes/probe_definition.h"
#include "kernel/probes/probe_links.h"
#include "kernel/probes/probe_program.h"
#include "kernel/programs/dynamic_events.h"
#include "kernel/symbols/symbols.h"

namespace ktraced {

// A kind of dynamic events: each has its own program, which fetches the values of its definition,
// and links to the probed functions. The source of such an event is its definition as text.
class Probes : public DynamicKind {
 public:
  // `object` and `symbols` must outlive this.
  Probes(const BpfObject& object, KernelSymbols& symbols) : object_(object), symbols_(symbols) {}

  [[nodiscard]] std::string_view name() const override { return "probe"; }
  Result<> prepare(const DynamicEvent& event) override;
  Result<Fd> load(const DynamicEvent& event) override;
  Result<std::vector<Fd>> attach(const DynamicEvent& event, int program) override;
  [[nodiscard]] uint64_t missed(const Fd& link) const override {
    return kprobe_misses(link).value_or(0);
  }

  // Cached results for a definition: looking up the kernel's symbols and types is slow.
  struct LookUp {
    Result<std::vector<KernelFunction>> functions;
    Result<CompiledProbe> compiled;
    ProbeHook hook = ProbeHook::one_by_one;
  };
  using LookUps = std::map<std::string, LookUp>;  // by text_of()
  // Thread-safe.
  [[nodiscard]] LookUp look_up(const ProbeDefinition& probe) const;
  // While a copy of `known` exists, those definitions are not looked up again.
  using Kept = std::shared_ptr<const LookUps>;
  void keep(const Kept& known) { kept_ = known; }

  // The event of a definition. Fails with ExitCode::usage, naming the column, or with
  // ExitCode::unavailable.
  [[nodiscard]] Result<Event> event_of(const ProbeDefinition& probe) const;
  // The functions that match a definition now. Fails with ExitCode::usage, naming the column, or
  // with ExitCode::unavailable.
  [[nodiscard]] Result<std::vector<KernelFunction>> functions_of(
      const ProbeDefinition& probe) const;
  // Modules of the functions it was last attached to. The kernel can unload a module that has
  // probes, which then never hit again. It cannot if a pattern is attached by kprobe.multi.
  [[nodiscard]] const std::set<std::string>& modules(uint16_t id) const;
  // Does it prevent the unloading of those modules?
  [[nodiscard]] bool keeps_modules(const ProbeDefinition& probe) const {
    return hook_of(probe) == ProbeHook::multi;
  }
  // Functions that the pattern of an attached probe matches but that cannot be probed, and why.
  [[nodiscard]] std::map<std::string, std::string> skipped(uint16_t id) const;
  // Does this kernel report how many hits it missed? Known once a probe has been attached; true
  // until then.
  [[nodiscard]] bool misses_known() const { return misses_known_; }
  // Called with the progress (done, total) while a pattern is attached to functions one by one; may
  // be empty.
  using Progress = std::function<void(size_t done, size_t total)>;
  void set_progress(Progress progress) { progress_ = std::move(progress); }
  // Why this kernel does not support probes; empty if it does.
  [[nodiscard]] static std::string unavailable() { return why_no_kprobes(); }

 private:
  // The functions of a probe, see functions_of(). Records their modules.
  [[nodiscard]] Result<std::vector<KernelFunction>> places_of(uint16_t id,
                                                              const ProbeDefinition& probe);
  [[nodiscard]] Result<CompiledProbe> compile(const ProbeDefinition& probe) const;
  [[nodiscard]] ProbeHook hook_of(const ProbeDefinition& probe) const;
  // The cached results for a probe; null: there are none.
  [[nodiscard]] std::shared_ptr<const LookUp> kept(const ProbeDefinition& probe) const;
  // find_functions(), find_program() and find_hook() look up the kernel. Thread-safe.
  [[nodiscard]] Result<std::vector<KernelFunction>> find_functions(
      const ProbeDefinition& probe) const;
  [[nodiscard]] Result<CompiledProbe> find_program(const ProbeDefinition& probe) const;
  [[nodiscard]] ProbeHook find_hook(const ProbeDefinition& probe) const;
  Result<std::vector<Fd>> attach_pattern(uint16_t id, const ProbeDefinition& probe, int program,
                                         const std::vector<KernelFunction>& functions);
  using Skipped = std::map<std::string, std::string>;
  static Result<std::vector<Fd>> attach_multi(const ProbeDefinition& probe, int program,
                                              const std::vector<KernelFunction>& functions,
                                              Skipped& skipped);
  Result<std::vector<Fd>> attach_each(const ProbeDefinition& probe, int program,
                                      const std::vector<KernelFunction>& functions,
                                      Skipped& skipped) const;

  const BpfObject& object_;
  KernelSymbols& symbols_;
  std::map<uint16_t, Skipped> skipped_;
  std::map<uint16_t, std::set<std::string>> modules_;  // by event
  bool misses_known_ = true;
  Progress progress_;
  std::weak_ptr<const LookUps> kept_;
};

// The probe that a dynamic event's source describes; the source is what text_of() printed.
[[nodiscard]] Result<ProbeDefinition> probe_of(const DynamicEvent& event);

}  // namespace ktraced
