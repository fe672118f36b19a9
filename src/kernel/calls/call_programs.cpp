// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/calls/call_programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <ranges>
#include <set>
#include <string_view>
#include <utility>

#include "kernel/calls/call_functions.h"
#include "kernel/programs/bpf_loader.h"
#include "kernel/programs/libbpf_log.h"
#include "schema/names.h"
#include "schema/string_arguments.h"

extern "C" {
#include "ktraced_call.skel.h"
}

namespace ktraced {
namespace {

constexpr std::string_view kEnter = "enter_", kReturn = "return_";

// A program of bpf/call.bpf.c.
struct CallProgram {
  const char* program;
  uint16_t place;
};

// The programs for a function. They are attached at once: when the kernel adds a program to a
// function later, it does not report the returns of the calls that are running.
std::vector<CallProgram> kinds_for(const std::string& function) {
  if (function == kSecureComputing) return {{"call_refused", CALL_RETURNED}};
  if (function == kSeccompPermit) return {{"call_not_permitted", CALL_RETURNED}};
  return {{"call_entered", CALL_ENTERED}, {"call_returned", CALL_RETURNED}};
}

Result<LoadedObject> load_call_programs(const BpfObject& main, const std::string& function,
                                        const std::vector<CallProgram>& kinds) {
  const LibbpfLog log;
  size_t size = 0;
  const void* bytes = ktraced_call_bpf__elf_bytes(&size);
  auto opened = open_beside({static_cast<const std::byte*>(bytes), size}, main);
  if (!opened) return propagate(opened);
  LoadedObject object = std::move(*opened);
  for (const CallProgram& kind : kinds) {
    bpf_program* program = bpf_object__find_program_by_name(object.get(), kind.program);
    if (program == nullptr || bpf_program__set_autoload(program, true) != 0 ||
        bpf_program__set_attach_target(program, 0, function.c_str()) != 0)
      return fail(ExitCode::unavailable, "this kernel has no function {} for programs", function);
  }
  if (const int error = -bpf_object__load(object.get()); error != 0) {
    spdlog::debug("{}", log.text());
    return fail(error == EPERM || error == EACCES ? ExitCode::no_permission : ExitCode::unavailable,
                "the kernel refuses a program on the function {}: {}", function, errno_text(error));
  }
  return object;
}

}  // namespace

CallPrograms::CallPrograms(const BpfObject& object, LedgerCounts& retired_misses)
    : object_(object), retired_misses_(retired_misses) {
  set_string_arguments(object.control());
  if (object.pins() == nullptr) return;
  for (const std::string& function : functions_of_pins(object.pins()->names(Pins::Kind::link)))
    adopt(function);
}

// A function without all of its programs is attached again when it is needed.
void CallPrograms::adopt(const std::string& function) {
  const Pins& pins = *object_.pins();
  Hooks hooks;
  for (const CallProgram& kind : kinds_for(function)) {
    const std::string name = call_pin_name(function, kind.place);
    Hook hook{.place = kind.place,
              .program = pins.get(Pins::Kind::program, name),
              .link = pins.get(Pins::Kind::link, name)};
    if (hook.link && hook.program) hooks.push_back(std::move(hook));
  }
  if (hooks.empty()) return;
  const bool complete = hooks.size() == kinds_for(function).size();
  {
    std::lock_guard lock(mutex_);
    hooks_[function] = std::move(hooks);
  }
  if (!complete) detach(function);
}

Result<> CallPrograms::pin(const std::string& function, const Hooks& hooks) const {
  if (object_.pins() == nullptr) return {};
  const Pins& pins = *object_.pins();
  for (const Hook& hook : hooks) {
    const std::string name = call_pin_name(function, hook.place);
    auto pinned = pins.pin(Pins::Kind::program, name, hook.program.get());
    if (pinned) pinned = pins.pin(Pins::Kind::link, name, hook.link.get());
    if (!pinned) {
      unpin(function, hooks);
      return pinned;
    }
  }
  return {};
}

void CallPrograms::unpin(const std::string& function, const Hooks& hooks) const {
  if (object_.pins() == nullptr) return;
  for (const Hook& hook : hooks) {
    object_.pins()->unpin(Pins::Kind::link, call_pin_name(function, hook.place));
    object_.pins()->unpin(Pins::Kind::program, call_pin_name(function, hook.place));
  }
}

Result<> CallPrograms::attach(const std::string& function) {
  if (hooks_.contains(function)) return {};
  detaching_.wait(function);
  const std::vector<CallProgram> kinds = kinds_for(function);
  auto object = load_call_programs(object_, function, kinds);
  if (!object) return propagate(object);
  Hooks hooks;
  for (const CallProgram& kind : kinds) {
    const bpf_program* program = bpf_object__find_program_by_name(object->get(), kind.program);
    Hook hook{.place = kind.place,
              .program = Fd(::fcntl(bpf_program__fd(program), F_DUPFD_CLOEXEC, 0)),
              .link = Fd(bpf_raw_tracepoint_open(nullptr, bpf_program__fd(program)))};
    if (!hook.link)
      return fail(ExitCode::unavailable, "cannot attach a program to the function {}: {}", function,
                  errno_text(errno));
    hooks.push_back(std::move(hook));
  }
  if (auto pinned = pin(function, hooks); !pinned) return pinned;
  std::lock_guard lock(mutex_);
  hooks_[function] = std::move(hooks);
  return {};
}

void CallPrograms::detach(const std::string& function) {
  const auto found = hooks_.find(function);
  if (found == hooks_.end()) return;
  std::lock_guard lock(mutex_);
  for (const Hook& hook : found->second) {
    detaching_.note(function, hook.link);
    retired_misses_[hook.place] += recursion_misses(hook.program.get());
  }
  unpin(function, found->second);
  hooks_.erase(found);
}

void CallPrograms::detach_all() {
  for (const std::string& function : attached()) detach(function);
}

std::vector<std::string> CallPrograms::attached() const {
  const auto functions = std::views::keys(hooks_);
  return {functions.begin(), functions.end()};
}

void CallPrograms::add_runs(RunsByProgram& runs) const {
  for (const auto& [function, hooks] : hooks_)
    for (const Hook& hook : hooks) {
      const char* event = hook.place == CALL_ENTERED ? "sys_enter" : "sys_exit";
      runs[fmt::format("{} at {}", event, function)] += runs_of(hook.program.get());
    }
}

uint64_t CallPrograms::missed(uint16_t event) const {
  if (event != EVENT_sys_enter && event != EVENT_sys_exit) return 0;
  const uint16_t place = event == EVENT_sys_enter ? CALL_ENTERED : CALL_RETURNED;
  std::lock_guard lock(mutex_);
  uint64_t missed = retired_misses_[place];
  for (const auto& [function, hooks] : hooks_)
    for (const Hook& hook : hooks)
      if (hook.place == place) missed += recursion_misses(hook.program.get());
  return missed;
}

void set_string_arguments(struct control& control) {
  for (uint32_t abi = 0; abi < SYSCALL_ABIS; ++abi)
    for (int32_t nr = 0; nr < SYSCALL_MAX; ++nr)
      control.string_args[abi][nr] = string_arguments(abi, syscall_name(abi, nr));
}

std::string call_pin_name(const std::string& function, uint16_t place) {
  return fmt::format("{}{}", place == CALL_ENTERED ? kEnter : kReturn, function);
}

std::vector<std::string> functions_of_pins(const std::vector<std::string>& names) {
  std::set<std::string_view> pinned;
  for (const std::string_view name : names)
    for (const std::string_view place : {kEnter, kReturn})
      if (name.starts_with(place)) pinned.insert(name.substr(place.size()));
  if (pinned.empty()) return {};
  std::vector<std::string> functions = CallFunctions::possible();
  std::erase_if(functions, [&](const std::string& name) { return !pinned.contains(name); });
  return functions;
}

}  // namespace ktraced
