// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/call_hooks.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace ktraced {
namespace {

// No event has a name with this.
constexpr std::string_view kPrefix = "function ";

}  // namespace

Result<CallHooks::Functions> CallHooks::functions_for(const std::vector<std::string>& calls) {
  if (!functions_ && unusable_because_.empty()) {
    auto read = CallFunctions::of_kernel();
    if (read)
      functions_ = std::move(*read);
    else
      unusable_because_ = read.error().message;
  }
  if (!unusable_because_.empty()) return fail(ExitCode::unavailable, "{}", unusable_because_);
  auto functions = functions_->of(calls);
  if (!functions) return functions;
  for (const std::string& function : *functions)
    if (const auto found = refused_.find(function); found != refused_.end())
      return fail(ExitCode::unavailable, "{}", found->second);
  return functions;
}

bool CallHooks::decide(const SessionSet& sessions) {
  const uint32_t recording = sessions.recording("sys_enter") | sessions.recording("sys_exit");
  const auto before = std::exchange(why_not_, {});
  const auto places_before = std::exchange(by_session_, {});
  for (const Session& session : sessions.all()) {
    const std::vector<std::string>& calls = sessions.filter_of(session).syscall;
    if ((recording & session.bit()) == 0 || calls.empty()) continue;
    if (auto functions = functions_for(calls))
      by_session_[session.number] = std::move(*functions);
    else
      why_not_[session.number] = functions.error().message;
  }
  for (const auto& [number, why] : why_not_)
    if (const auto old = before.find(number); old == before.end() || old->second != why)
      spdlog::info("session '{}' records at the tracepoints of system calls: {}",
                   sessions.find(number)->name, why);
  return by_session_ != places_before;
}

uint32_t CallHooks::sessions() const {
  uint32_t bits = 0;
  for (const auto& [number, functions] : by_session_) bits |= 1U << number;
  return bits;
}

bool CallHooks::attached(const Session& session) const {
  const auto found = by_session_.find(session.number);
  if (found == by_session_.end()) return false;
  return std::ranges::all_of(
      found->second, [this](const std::string& function) { return programs_.attached(function); });
}

std::optional<std::string> CallHooks::why_not(const Session& session) const {
  const auto found = why_not_.find(session.number);
  return found == why_not_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<ProgramNeed> CallHooks::needs() const {
  Functions needed;
  for (const auto& [number, functions] : by_session_)
    needed.insert(functions.begin(), functions.end());
  Functions all = needed;
  for (std::string& function : programs_.attached()) all.insert(std::move(function));
  std::vector<ProgramNeed> needs;
  for (const std::string& function : all)
    needs.push_back({.program = {.name = std::string(kPrefix) + function},
                     .needed = needed.contains(function)});
  return needs;
}

std::optional<std::string> CallHooks::function_of(std::string_view program) {
  if (!program.starts_with(kPrefix)) return std::nullopt;
  return std::string(program.substr(kPrefix.size()));
}

void CallHooks::attach(const std::string& function) {
  if (!unusable_because_.empty() || refused_.contains(function)) return;
  const auto attached = programs_.attach(function);
  if (attached) return;
  failed_ = true;
  if (attached.error().code == ExitCode::no_permission)
    unusable_because_ = attached.error().message;
  else
    refused_[function] = attached.error().message;
}

bool CallHooks::take_failed() { return std::exchange(failed_, false); }

}  // namespace ktraced
