// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/call_hooks.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "daemon/sessions/session_rules.h"

namespace ktraced {
namespace {

// The functions where a session records; none: at the tracepoints.
std::set<std::string> place_of(const std::map<uint32_t, std::set<std::string>>& by_session,
                               const Session& session) {
  const auto found = by_session.find(session.number);
  return found == by_session.end() ? std::set<std::string>() : found->second;
}

}  // namespace

// Tries the first function at once, so that no session is moved because the kernel allows no
// programs on functions at all.
Result<CallHooks::Functions> CallHooks::functions_for(const std::vector<std::string>& calls) {
  if (calls.empty()) return fail(ExitCode::unavailable, "all calls are selected");
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
  if (!std::exchange(tried_, true)) {
    attach(*functions->begin());
    failed_ = false;
    if (!unusable_because_.empty()) return fail(ExitCode::unavailable, "{}", unusable_because_);
  }
  for (const std::string& function : *functions)
    if (const auto found = refused_.find(function); found != refused_.end())
      return fail(ExitCode::unavailable, "{}", found->second);
  return functions;
}

bool CallHooks::decide(const SessionSet& sessions) {
  const uint32_t now = recording(sessions, "sys_enter") | recording(sessions, "sys_exit");
  const uint32_t recorded = std::exchange(recording_, now);
  const auto reasons_before = std::exchange(why_not_, {});
  const auto places_before = std::exchange(by_session_, {});
  bool moved = false;
  for (const Session& session : sessions.all()) {
    if ((now & session.bit()) == 0) continue;
    const std::vector<std::string>& calls = filter_of(sessions, session).syscall;
    auto functions = session.owner.is_ordinary_user()  // attaching slows the whole machine
                         ? Result<Functions>(fail(ExitCode::no_permission,
                                                  "only administrators record at functions"))
                         : functions_for(calls);
    if (functions)
      by_session_[session.number] = std::move(*functions);
    else if (!calls.empty())
      note_reason(session, functions.error().message, reasons_before);
    moved = moved || ((recorded & session.bit()) != 0 &&
                      place_of(by_session_, session) != place_of(places_before, session));
  }
  return moved;
}

void CallHooks::note_reason(const Session& session, const std::string& reason,
                            const std::map<uint32_t, std::string>& before) {
  why_not_[session.number] = reason;
  if (const auto old = before.find(session.number); old == before.end() || old->second != reason)
    spdlog::info("session '{}' records at the tracepoints of system calls: {}", session.name,
                 reason);
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
    needs.push_back({.program = {.name = function, .kind = Program::Kind::calls},
                     .needed = needed.contains(function)});
  return needs;
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

void CallHooks::clear_failures() {
  unusable_because_.clear();
  refused_.clear();
  tried_ = false;
}

}  // namespace ktraced
