// SPDX-License-Identifier: BSD-2-Clause
// Kernel probes as events.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernel/dynamic_events.h"
#include "kernel/probe_compiler.h"
#include "kernel/probe_definition.h"
#include "kernel/probe_links.h"
#include "kernel/probe_program.h"
#include "kernel/symbols.h"

namespace ktraced {

// A kind of dynamic events: each has a program of its own that fetches what its definition says,
// and links to the functions it names. The source of such an event is its definition as text.
class Probes : public DynamicKind {
 public:
  // Both must outlive this.
  Probes(const BpfObject& object, KernelSymbols& symbols) : object_(object), symbols_(symbols) {}

  [[nodiscard]] std::string_view name() const override { return "probe"; }
  Result<> prepare(const DynamicEvent& event) override;
  Result<Fd> load(const DynamicEvent& event) override;
  Result<std::vector<Fd>> attach(const DynamicEvent& event, int program) override;
  [[nodiscard]] uint64_t missed(const Fd& link) const override {
    return kprobe_misses(link).value_or(0);
  }

  // What a definition records. Fails with ExitCode::usage, naming the column, or with
  // ExitCode::unavailable.
  [[nodiscard]] Result<Event> event_of(const ProbeDefinition& probe) const;
  // The functions it is set on now; fails likewise.
  [[nodiscard]] Result<std::vector<KernelFunction>> functions_of(
      const ProbeDefinition& probe) const;
  // Modules of the functions it was last set on. The kernel lets a module go that has probes, and
  // they are dead from then on; only where a pattern is set by kprobe.multi it does not.
  [[nodiscard]] const std::set<std::string>& modules(uint16_t id) const;
  // Does it keep those modules from being unloaded?
  [[nodiscard]] bool keeps_modules(const ProbeDefinition& probe) const {
    return hook_of(probe) == ProbeHook::multi;
  }
  // Functions that the pattern of an attached probe matches but that cannot be probed, and why.
  [[nodiscard]] std::map<std::string, std::string> skipped(uint16_t id) const;
  // Does this kernel tell how many hits it skipped? Known once a probe has been attached; until
  // then true.
  [[nodiscard]] bool misses_known() const { return misses_known_; }
  // Told how many of how many functions a pattern has been set on, while that goes on one by one;
  // empty: nobody wants to know.
  using Progress = std::function<void(size_t done, size_t total)>;
  void set_progress(Progress progress) { progress_ = std::move(progress); }
  // Why this kernel cannot have probes; empty if it can.
  [[nodiscard]] static std::string unavailable() { return why_no_kprobes(); }

 private:
  // functions_of(), remembering their modules.
  [[nodiscard]] Result<std::vector<KernelFunction>> places_of(uint16_t id,
                                                              const ProbeDefinition& probe);
  [[nodiscard]] Result<CompiledProbe> compile(const ProbeDefinition& probe) const;
  [[nodiscard]] ProbeHook hook_of(const ProbeDefinition& probe) const;
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
};

// The probe that a dynamic event's source describes; the source is what text_of() printed.
[[nodiscard]] Result<ProbeDefinition> probe_of(const DynamicEvent& event);

}  // namespace ktraced
