// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/catchers/catchers.h"

#include <bpf/bpf.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <ranges>

#include "kernel/symbols/symbols.h"

namespace ktraced {
namespace {

constexpr const char* kCatchingMap = ".data.catching";
// How often missed hits are counted: a catcher records a skipped hit within some nanoseconds.
constexpr int kReadings = 4;

}  // namespace

Result<Mapping> Catchers::map(const BpfObject& object) {
  return Mapping::map(object.map_fd(kCatchingMap), sizeof(struct catching), PROT_READ | PROT_WRITE);
}

Catchers::Catchers(BpfObject& object, const Schema& schema, const features& features,
                   Mapping catching)
    : object_(object),
      catching_(std::move(catching)),
      features_(features),
      active_(features.running_readable != 0
                  ? CATCHER_RECORDS
                  : CATCHER_NOTES | CATCHER_GETS_REST | CATCHER_RECORDS) {
  for (const Event& event : schema.events())
    if (event.id < CATCHER_EVENTS && object.program(program(event.name)))
      events_.emplace(event.name, event.id);
  for (const auto& [event, id] : events_)
    if (state(event) != active_ || !attached(event)) detach(event);
}

std::string Catchers::event_of(const std::string& program) {
  return program.substr(Catchers::program("").size());
}

u8 Catchers::state(const std::string& event) const {
  return object_.control().catcher_states[events_.at(event)];
}

void Catchers::set_state(const std::string& event, u8 state) {
  std::atomic_ref(object_.control().catcher_states[events_.at(event)]).store(state);
}

// Not of hits that meet a catcher.
void Catchers::remove_notes(const std::string& event) {
  const uint32_t column = events_.at(event) % CATCHER_COLUMNS;
  for (auto& row : catching().notes) std::atomic_ref(row[column]).store(0);
}

Result<> Catchers::attach(const std::string& event) {
  if (!supports(event) || attached(event)) return {};
  auto attached = try_attach(event);
  if (attached) return attached;
  failed_.insert(event);
  detach(event);
  return fail(attached.error().code, "hits of {} may be missed: {}", event,
              attached.error().message);
}

// A hit runs the programs that were attached when it began, the first one before the catcher.
Result<> Catchers::try_attach(const std::string& event) {
  if (auto first = object_.attach(event); !first) return first;
  object_.wait_until_detached(program(event));
  if (auto located = locate_cpus(); !located) return located;
  if (features_.running_readable == 0) return attach_with_notes(event);
  if (auto located = locate_running(event); !located) return located;
  if (auto attached = object_.attach(program(event)); !attached) return attached;
  set_state(event, active_);
  return {};
}

// At no time may a catcher record a hit that the first program has recorded without a note:
//
// 1. First programs leave notes, and record all hits. When those that run now have ended, all leave
//    notes if there is room. No catcher will remove the notes of these hits: it is done here.
// 2. The catcher is attached. It removes notes, and records nothing.
// 3. First programs no longer record hits that they cannot note. When those that run now have
//    ended, each recorded hit that meets the catcher has a note.
// 4. The catcher records the hits without a note.
//
// The wait of step 3 is for programs. Where tasks are preempted between two of them (7.0), a hit of
// step 2 without a note, because both places were taken, could still be recorded twice.
//
// A daemon that is killed in between leaves a state in which no catcher records.
Result<> Catchers::attach_with_notes(const std::string& event) {
  if (auto prepared = barrier_.prepare(); !prepared) return prepared;
  set_state(event, CATCHER_NOTES);
  barrier_.wait();
  remove_notes(event);
  if (auto attached = object_.attach(program(event)); !attached) return attached;
  set_state(event, CATCHER_NOTES | CATCHER_GETS_REST);
  barrier_.wait();
  set_state(event, active_);
  return {};
}

// Finds once what all programs read of the kernel: where the memory of each CPU is, and the count
// of preemption. Without that count more hits are left to catchers.
Result<> Catchers::locate_cpus() {
  if (located_ || features_.rdonly_cast == 0) return {};
  const uint32_t cpus = object_.map_capacity("cpu_states");
  for (uint32_t cpu = 0; cpu < cpus && cpu < CATCHER_CPUS; ++cpu)
    if (auto run = run_locate({LOCATE_CPU, cpu, 0}); !run) return run;
  if (features_.preemptible != 0 && cpus <= CATCHER_CPUS) {
    const auto address = KernelSymbols().address_of("__preempt_count");
    if (!address)
      spdlog::debug("{}", address.error().message);
    else if (auto run = run_locate({LOCATE_PREEMPT, *address, 0}); !run)
      return run;
  }
  located_ = true;
  return {};
}

// The first program of an event is another one after a change of sizes.
Result<> Catchers::locate_running(const std::string& event) {
  auto first = object_.program(event);
  if (!first) return propagate(first);
  const uint16_t id = events_.at(event);
  catching().running[id] = 0;
  if (auto run = run_locate({LOCATE_RUNNING, id, static_cast<u64>(*first)}); !run) return run;
  if (catching().running[id] != 0) return {};
  return fail(ExitCode::unavailable, "the kernel's count of its running programs was not found");
}

Result<> Catchers::run_locate(const std::array<u64, 3>& args) {
  auto program = object_.program("locate");
  if (!program) return propagate(program);
  LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = args.data(), .ctx_size_in = sizeof(args));
  if (const int error = -bpf_prog_test_run_opts(*program, &options); error != 0)
    return fail(ExitCode::unavailable, "cannot run a BPF program once: {}", errno_text(error));
  return {};
}

// A program without state acts as if there were no catcher, and a catcher without state records
// nothing. What a first program has left to the catcher meanwhile is counted as missed.
void Catchers::detach(const std::string& event) {
  if (!events_.contains(event)) return;
  set_state(event, 0);
  object_.detach(program(event));
}

void Catchers::detach_all() {
  for (const auto& [event, id] : events_) detach(event);
}

bool Catchers::attached(const std::string& event) const {
  return object_.attached(event) && object_.attached(program(event));
}

bool Catchers::detaching(const std::string& event) {
  return object_.detaching(event) || object_.detaching(program(event));
}

std::vector<std::string> Catchers::used() const {
  std::vector<std::string> used;
  for (const auto& [event, id] : events_)
    if (attached(event) || caught(id) != 0 || left(id) != 0) used.push_back(event);
  return used;
}

uint64_t Catchers::caught(uint16_t event) const {
  return event < CATCHER_EVENTS ? std::atomic_ref(catching().caught[event]).load() : 0;
}

uint64_t Catchers::left(uint16_t event) const {
  return event < CATCHER_EVENTS ? std::atomic_ref(catching().left[event]).load() : 0;
}

// A hit is caught after it was skipped or left, so `caught` is read first: each reading counts at
// least the hits that were missed when the first reading began, and so does the least of them.
uint64_t Catchers::missed(uint16_t event, const std::function<uint64_t()>& skipped) const {
  if (event >= CATCHER_EVENTS) return skipped();
  uint64_t missed = UINT64_MAX;
  for (int i = 0; i < kReadings && missed != 0; ++i) {
    const uint64_t caught = this->caught(event);
    const uint64_t not_recorded = skipped() + left(event);
    missed = std::min(missed, not_recorded - std::min(caught, not_recorded));
  }
  return missed;
}

}  // namespace ktraced
