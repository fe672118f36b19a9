// SPDX-License-Identifier: BSD-2-Clause
// The programs that record events with their stacks.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "bpf/shared_state.h"
#include "kernel/pins/ledger.h"
#include "kernel/programs/bpf_object.h"
#include "kernel/programs/detaching_links.h"
#include "kernel/stacks/samplers.h"
#include "schema/schema.h"

namespace ktraced {

// Where the hits of an event are counted that its program of bpf/stack.bpf.c records, and where its
// sessions are: a number that no event has. 0 for an event that cannot have stacks.
[[nodiscard]] constexpr uint16_t stack_place(uint16_t event) {
  return event < STACK_EVENTS ? static_cast<uint16_t>(STACK_PLACES + event) : uint16_t{0};
}

// The event that has no other program: it is always recorded with stacks, of Samplers.
inline constexpr const char* kSampleEvent = "cpu_sample";

// Loads and attaches the programs of bpf/stack.bpf.c. Each records its event with stacks for the
// sessions that the word at stack_place() names, while the first program of the event records it
// for others. Nothing is loaded, and no memory used, until an event gets stacks. With a pinned BPF
// object, attachments outlive the daemon. Belongs to the main thread.
class StackPrograms {
 public:
  // Adopts the attachments of an earlier daemon. `object` and `retired_misses`, that of the Ledger,
  // must outlive this.
  StackPrograms(const BpfObject& object, const Schema& schema, LedgerCounts& retired_misses);

  // The events that have a program in the built-in object, whether the kernel accepts it or not.
  [[nodiscard]] static Result<std::set<std::string>> built_in();

  // The events whose stacks can be asked for, by name, and why those of another one cannot: a
  // sentence without its end. Nothing: they can.
  [[nodiscard]] static std::vector<std::string> supported();
  [[nodiscard]] static std::optional<std::string> why_not(const std::string& event);

  // Attaching twice is no error. Fails with ExitCode::unavailable, and of kSampleEvent also as
  // Samplers::start().
  Result<> attach(const std::string& event);
  void detach(const std::string& event);
  void detach_all();
  [[nodiscard]] bool attached(const std::string& event) const { return hooks_.contains(event); }
  // Events with an attached program.
  [[nodiscard]] std::vector<std::string> attached() const;
  // Is it detached but may still run? attach() waits until it does not.
  [[nodiscard]] bool detaching(const std::string& event) { return !detaching_.gone(event); }

  // Samples are taken with this period from now on.
  void set_period(const SamplePeriod& period);
  // CPUs have come or gone: all that are online are sampled. False: none was sampled.
  bool renew_samplers();
  [[nodiscard]] const Samplers& samplers() const { return samplers_; }

  // Hits at a stack_place() that the kernel missed here; of other numbers 0. Thread-safe.
  [[nodiscard]] uint64_t missed(uint16_t place) const;

  // Memory that the programs use for stacks, in bytes; 0: none is loaded. And what the first one
  // needs.
  [[nodiscard]] uint64_t memory() const { return map_ ? memory_needed() : 0; }
  [[nodiscard]] static uint64_t memory_needed();
  // How many of so many frames a stack of the kernel can have: fewer if kernel.perf_event_max_stack
  // is low. `limit`: its value.
  [[nodiscard]] static uint16_t kernel_depth(uint32_t depth, uint32_t limit = max_stack());
  // The value of kernel.perf_event_max_stack, or what it is if it is not changed.
  [[nodiscard]] static uint32_t max_stack();
  // Makes programs ask for as many frames of the kernel as it allows now, of those that they have
  // of processes: what they do not get, they know then. Logs that it allows fewer.
  void limit_kernel_depth();
  // Frames of a stack of the kernel, at most.
  [[nodiscard]] uint32_t kernel_depth() const { return limits_.second; }

  // Adds what the kernel has measured of the programs: "EVENT with stacks".
  void add_runs(RunsByProgram& runs) const;

 private:
  struct Hook {
    uint16_t place = 0;
    Fd program;
    Fd link;  // of kSampleEvent the samplers have links
  };
  void adopt();
  Result<> connect(const std::string& event, Hook& hook);
  Result<Fd> load(const std::string& event);
  Result<> pin(const std::string& event, const Hook& hook) const;
  void unpin(const std::string& event) const;
  void free_map();

  const BpfObject& object_;
  std::map<std::string, uint16_t> places_;  // of all events that can have stacks
  Fd map_;                                  // what only these programs use, while one is loaded
  mutable std::mutex mutex_;
  std::map<std::string, Hook> hooks_;  // by event; changed with mutex_ held
  LedgerCounts& retired_misses_;       // guarded by mutex_
  DetachingLinks detaching_;
  Samplers samplers_;
  std::pair<uint32_t, uint32_t> limits_;  // frames of a process and of the kernel, as logged last
  bool unset_ = true;  // no period was set: an earlier daemon may have started the samplers
};

}  // namespace ktraced
