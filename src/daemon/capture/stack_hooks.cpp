// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/stack_hooks.h"

#include <spdlog/spdlog.h>

#include <atomic>
#include <utility>

#include "daemon/sessions/session_rules.h"

namespace ktraced {
namespace {

uint32_t at(const StackHooks::SessionsByEvent& sessions, const std::string& event) {
  const auto found = sessions.find(event);
  return found == sessions.end() ? 0 : found->second;
}

}  // namespace

StackHooks::StackHooks(StackPrograms& programs, const Schema& schema,
                       std::span<const u32, EVENT_ID_MAX> ways)
    : programs_(programs) {
  std::vector<std::string> names = StackPrograms::supported();
  names.emplace_back(kSampleEvent);
  for (const std::string& name : names) {
    const Event* event = schema.find(name);
    if (event == nullptr) continue;
    with_stacks_[name] = ways[stack_place(event->id)] & WAY_SESSIONS;
    recording_[name] = with_stacks_[name] | (ways[event->id] & WAY_SESSIONS);
  }
}

void StackHooks::configure(const Config& all, const Schema& schema, struct control& of_programs) {
  const StacksConfig& config = all.stacks;
  sampling_ = all.sampling.value_or(SamplingConfig{});
  std::atomic_ref(of_programs.sampling.kernel).store(sampling_.kernel ? 1 : 0);
  std::atomic_ref(of_programs.sampling.user).store(sampling_.user ? 1 : 0);
  programs_.set_period(sampling_.period);
  stack_control& control = of_programs.stacks;
  std::atomic_ref(control.depth).store(config.depth);
  std::atomic_ref(control.kernel).store(config.kernel ? 1 : 0);
  std::atomic_ref(control.user).store(config.user ? 1 : 0);
  for (const Event& event : schema.events()) {
    if (stack_place(event.id) == 0) continue;
    const auto every = config.every.find(event.name);
    std::atomic_ref(control.every[event.id]).store(every == config.every.end() ? 1 : every->second);
  }
  depth_ = config.depth;
  programs_.limit_kernel_depth();
}

nlohmann::json StackHooks::describe_sampling() const {
  return {{"period", text_of(sampling_.period)},
          {"kernel", sampling_.kernel},
          {"user", sampling_.user},
          {"cpus", programs_.samplers().cpus()}};
}

StackHooks::SessionsByEvent StackHooks::decide(const SessionSet& sessions) {
  SessionsByEvent moved;
  for (auto& [event, recorded] : recording_) {
    const uint32_t now = recording(sessions, event);
    const bool always = event == kSampleEvent;
    const uint32_t with = refused_.contains(event) ? 0
                          : always                 ? now
                                                   : now & ktraced::with_stacks(sessions, event);
    const uint32_t had = std::exchange(with_stacks_[event], with);
    if (const uint32_t others = (with ^ had) & now & std::exchange(recorded, now); others != 0)
      moved[event] = others;
  }
  return moved;
}

uint32_t StackHooks::sessions(const std::string& event) const { return at(with_stacks_, event); }

std::vector<ProgramNeed> StackHooks::needs() const {
  std::vector<ProgramNeed> needs;
  for (const auto& [event, sessions] : with_stacks_)
    if (sessions != 0 || programs_.attached(event))
      needs.push_back({.program = {.name = event, .kind = Program::Kind::stack},
                       .needed = sessions != 0,
                       .last = event == kSampleEvent});
  return needs;
}

Result<> StackHooks::attach(const std::string& event) {
  auto attached = programs_.attach(event);
  if (attached || event == kSampleEvent) return attached;
  failed_ = true;
  refused_[event] = attached.error().message;
  spdlog::error("{} is recorded without stacks: {}", event, attached.error().message);
  return {};
}

bool StackHooks::take_failed() { return std::exchange(failed_, false); }

}  // namespace ktraced
