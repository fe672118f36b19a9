// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/stacks/stack_programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ranges>
#include <string_view>
#include <utility>

#include "base/files/lines.h"
#include "base/files/read_file.h"
#include "base/text/plain_text.h"
#include "base/text/suggest.h"
#include "kernel/programs/bpf_loader.h"
#include "kernel/programs/libbpf_log.h"

namespace ktraced {
namespace {

constexpr std::string_view kStackedPrefix = "stacked_";  // of programs and pins
// Recorded on the CPU that the thread will run on, often in an interrupt.
constexpr const char* kOfWokenThread = "sched_wakeup";
constexpr const char* kStackMap = "stack_cpus";

std::string stacked_program(const std::string& event) {
  return std::string(kStackedPrefix) + event;
}

Fd duplicate_fd(int fd) { return Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

}  // namespace

StackPrograms::StackPrograms(const BpfObject& object, const Schema& schema,
                             LedgerCounts& retired_misses)
    : object_(object), retired_misses_(retired_misses), samplers_(object) {
  const auto programs = built_in();
  for (const Event& event : schema.events())
    if (programs && programs->contains(event.name))
      places_.emplace(event.name, stack_place(event.id));
  if (object.pins() != nullptr) adopt();
}

Result<std::set<std::string>> StackPrograms::built_in() {
  auto names = programs_in(stack_object_bytes());
  if (!names) return propagate(names);
  std::set<std::string> events;
  for (const std::string& name : *names)
    if (name.starts_with(kStackedPrefix)) events.insert(name.substr(kStackedPrefix.size()));
  return events;
}

std::vector<std::string> StackPrograms::supported() {
  static const std::vector<std::string> kSupported = [] {
    std::set<std::string> events = built_in().value_or(std::set<std::string>());
    events.erase(kOfWokenThread);
    events.erase(kSampleEvent);
    return std::vector<std::string>(events.begin(), events.end());
  }();
  return kSupported;
}

std::optional<std::string> StackPrograms::why_not(const std::string& event) {
  if (event == kOfWokenThread)
    return fmt::format(
        "'{}' has no stack that says anything: it is recorded where the thread will run, often in "
        "an interrupt; 'sched_waking' has the stack of who wakes it",
        event);
  if (event == kSampleEvent)
    return fmt::format("'{}' always has stacks: sampling.kernel and sampling.user choose which",
                       event);
  const std::vector<std::string> events = supported();
  if (event.contains(':'))
    return fmt::format("'{}' can have no stacks, as a tracepoint or a probe: only {} can have them",
                       printable(event), fmt::join(events, ", "));
  if (std::ranges::find(events, event) != events.end()) return std::nullopt;
  const std::string near = suggestion(event, events);
  return fmt::format("'{}' is no event that can have stacks{}", printable(event),
                     near.empty() ? fmt::format("; there are {}", fmt::join(events, ", ")) : near);
}

uint64_t StackPrograms::memory_needed() {
  return sizeof(stack_cpu) * static_cast<uint64_t>(std::max(0, libbpf_num_possible_cpus()));
}

// Programs skip frames of their own, which count too.
uint16_t StackPrograms::kernel_depth(uint32_t depth, uint32_t limit) {
  return static_cast<uint16_t>(
      std::min(depth, limit - std::min<uint32_t>(limit, STACK_OWN_FRAMES)));
}

uint32_t StackPrograms::max_stack() {
  constexpr uint32_t kUnchanged = 127;
  const auto text = read_file("/proc/sys/kernel/perf_event_max_stack", 64);
  return text ? number_behind<uint32_t>("", *text).value_or(kUnchanged) : kUnchanged;
}

void StackPrograms::limit_kernel_depth() {
  stack_control& control = object_.control().stacks;
  const uint32_t depth = std::atomic_ref(control.depth).load(), limit = max_stack();
  const uint16_t allowed = kernel_depth(depth, limit);
  std::atomic_ref(control.kernel_depth).store(allowed);
  const bool requested = std::atomic_ref(control.kernel).load() != 0;
  if (std::exchange(limits_, {depth, allowed}) == std::pair<uint32_t, uint32_t>(depth, allowed))
    return;
  if (requested && allowed < depth)
    spdlog::warn("stacks of the kernel have at most {} frames, not {}: {} is {}", allowed, depth,
                 "kernel.perf_event_max_stack", limit);
}

// A program without its map, or a part of the pins of an event, is of a daemon that died while it
// attached or detached it.
void StackPrograms::adopt() {
  const Pins& pins = *object_.pins();
  map_ = pins.get(Pins::Kind::map, kStackMap);
  for (const auto& [event, place] : places_) {
    Hook hook{.place = place,
              .program = pins.get(Pins::Kind::program, stacked_program(event)),
              .link = pins.get(Pins::Kind::link, stacked_program(event))};
    if (!hook.program && !hook.link) continue;
    const bool sampled = event == kSampleEvent;
    const bool complete = hook.program && (hook.link || sampled) && map_;
    {
      std::lock_guard lock(mutex_);
      hooks_[event] = std::move(hook);
    }
    if (!complete) detach(event);
  }
  if (hooks_.empty()) free_map();
}

// All programs share the map of the first one.
Result<Fd> StackPrograms::load(const std::string& event) {
  const LibbpfLog log;
  auto opened = open_beside(stack_object_bytes(), object_);
  if (!opened) return propagate(opened);
  bpf_object* object = opened->get();
  bpf_map* map = bpf_object__find_map_by_name(object, kStackMap);
  const int error = map_ ? bpf_map__reuse_fd(map, map_.get())
                         : bpf_map__set_max_entries(map, object_.map_capacity("cpu_states"));
  if (error != 0) return fail(ExitCode::software, "the built-in BPF object is incomplete");
  bpf_program* program = bpf_object__find_program_by_name(object, stacked_program(event).c_str());
  if (program == nullptr || bpf_program__set_autoload(program, true) != 0 ||
      !set_type_beside(program, object_))
    return fail(ExitCode::software, "'{}' has no program for stacks", event);
  if (const int refused = -bpf_object__load(object); refused != 0) {
    spdlog::debug("{}", log.text());
    return fail(ExitCode::unavailable, "the kernel refuses the program for stacks of {}: {}; {}",
                event, errno_text(refused), kDebugShowsWhy);
  }
  if (!map_) map_ = duplicate_fd(bpf_map__fd(map));
  return duplicate_fd(bpf_program__fd(program));
}

Result<> StackPrograms::pin(const std::string& event, const Hook& hook) const {
  if (object_.pins() == nullptr) return {};
  const Pins& pins = *object_.pins();
  Result<> pinned;
  if (!pins.get(Pins::Kind::map, kStackMap))
    pinned = pins.pin(Pins::Kind::map, kStackMap, map_.get());
  if (pinned) pinned = pins.pin(Pins::Kind::program, stacked_program(event), hook.program.get());
  if (pinned && hook.link)
    pinned = pins.pin(Pins::Kind::link, stacked_program(event), hook.link.get());
  if (!pinned) unpin(event);
  return pinned;
}

void StackPrograms::unpin(const std::string& event) const {
  if (object_.pins() == nullptr) return;
  object_.pins()->unpin(Pins::Kind::link, stacked_program(event));
  object_.pins()->unpin(Pins::Kind::program, stacked_program(event));
}

void StackPrograms::free_map() {
  map_ = {};
  if (object_.pins() != nullptr) object_.pins()->unpin(Pins::Kind::map, kStackMap);
}

Result<> StackPrograms::connect(const std::string& event, Hook& hook) {
  if (event == kSampleEvent) return samplers_.start(hook.program.get());
  hook.link = attach_raw_tracepoint(hook.program.get(), event);
  if (hook.link) return {};
  return fail(ExitCode::unavailable, "cannot attach '{}' with stacks: {}", event,
              errno_text(errno));
}

Result<> StackPrograms::attach(const std::string& event) {
  if (hooks_.contains(event)) return {};
  const auto place = places_.find(event);
  if (place == places_.end())
    return fail(ExitCode::unavailable, "'{}' has no program for stacks", event);
  detaching_.wait(event);
  auto program = load(event);
  if (!program) return propagate(program);
  // The kernel keeps its limit (EBUSY) while a program is loaded that takes its stacks.
  limit_kernel_depth();
  Hook hook{.place = place->second, .program = std::move(*program), .link = {}};
  auto attached = connect(event, hook);
  if (attached) attached = pin(event, hook);
  if (!attached) {
    if (event == kSampleEvent) samplers_.stop();
    if (hooks_.empty()) free_map();
    return attached;
  }
  std::lock_guard lock(mutex_);
  hooks_[event] = std::move(hook);
  return {};
}

void StackPrograms::detach(const std::string& event) {
  const auto found = hooks_.find(event);
  if (found == hooks_.end()) return;
  if (event == kSampleEvent) samplers_.stop();
  {
    std::lock_guard lock(mutex_);
    const Hook& hook = found->second;
    if (hook.link) detaching_.note(event, hook.link);
    if (hook.program) retired_misses_[hook.place] += recursion_misses(hook.program.get());
    unpin(event);
    hooks_.erase(found);
  }
  if (hooks_.empty()) free_map();
}

// What an earlier daemon has left goes on until the period is known.
void StackPrograms::set_period(const SamplePeriod& period) {
  if (!std::exchange(unset_, false) && period == samplers_.period()) return;
  samplers_.set_period(period);
  const bool sampled = hooks_.contains(kSampleEvent);
  if (sampled) samplers_.stop();
  std::atomic_ref(object_.control().sampling.period)
      .store(period.of == SamplePeriod::Of::time ? period.number : 0);
  if (sampled) renew_samplers();
}

bool StackPrograms::renew_samplers() {
  const auto found = hooks_.find(kSampleEvent);
  if (found == hooks_.end()) return false;
  if (auto started = samplers_.start(found->second.program.get()); !started) {
    spdlog::error("{}", started.error().message);
    detach(kSampleEvent);
  }
  return true;
}

void StackPrograms::detach_all() {
  for (const std::string& event : attached()) detach(event);
}

std::vector<std::string> StackPrograms::attached() const {
  const auto events = std::views::keys(hooks_);
  return {events.begin(), events.end()};
}

void StackPrograms::add_runs(RunsByProgram& runs) const {
  for (const auto& [event, hook] : hooks_)
    runs[fmt::format("{} with stacks", event)] += runs_of(hook.program.get());
}

uint64_t StackPrograms::missed(uint16_t place) const {
  if (place < STACK_PLACES || place >= STACK_PLACES + STACK_EVENTS) return 0;
  std::lock_guard lock(mutex_);
  uint64_t missed = retired_misses_[place];
  for (const auto& [event, hook] : hooks_)
    if (hook.place == place) missed += recursion_misses(hook.program.get());
  return missed;
}

}  // namespace ktraced
