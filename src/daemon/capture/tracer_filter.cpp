// SPDX-License-Identifier: BSD-2-Clause
// The lasting filter and the temporary filter.
#include <spdlog/spdlog.h>

#include "daemon/capture/tracer.h"

namespace ktraced {
namespace {

std::unexpected<Error> owned_by(const Tracer::FilterOwner& owner) {
  return fail(ExitCode::unavailable,
              "pid {} holds a temporary filter; try again when it has disconnected", owner.pid);
}

}  // namespace

Result<> Tracer::set_filter(const FilterSettings& settings) {
  if (temporary_) return owned_by(temporary_->owner);
  const TraceConfigHistory::Change change(trace_configs_);
  auto applied = filters_.apply(settings);
  if (applied) set_syscalls(settings.syscall);
  attach_followers();
  reconcile();  // following may have ended
  return applied;
}

Result<> Tracer::set_temporary_filter(const FilterSettings& settings, const FilterOwner& owner) {
  if (temporary_ && temporary_->owner.key != owner.key) return owned_by(temporary_->owner);
  const TraceConfigHistory::Change change(trace_configs_);
  const FilterSettings lasting = lasting_filter();
  if (auto applied = filters_.apply(settings, &lasting); !applied) return applied;
  temporary_ = {.owner = owner, .lasting = lasting};
  set_syscalls(settings.syscall);
  attach_followers();
  reconcile();
  return {};
}

void Tracer::end_temporary_filter(const void* owner) {
  if (!temporary_ || temporary_->owner.key != owner) return;
  const TemporaryFilter temporary = std::move(*temporary_);
  temporary_.reset();
  // The filter was valid before. It still is, unless one of its control groups has been removed.
  if (auto restored = set_filter(temporary.lasting); !restored)
    spdlog::error("cannot replace the temporary filter of pid {}: {}; set another filter",
                  temporary.owner.pid, restored.error().message);
}

// A temporary filter stays active.
Result<> Tracer::put_lasting_filter(const FilterSettings& settings) {
  if (!temporary_) return filters_.apply(settings);
  FilterSettings temporary = filters_.current();
  temporary.syscall = settings.syscall;
  if (auto applied = filters_.apply(temporary, &settings); !applied) return applied;
  temporary_->lasting = settings;
  return {};
}

}  // namespace ktraced
