// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/filter_control.h"

#include <spdlog/spdlog.h>

namespace ktraced {
namespace {

std::unexpected<Error> owned_by(const FilterOwner& owner) {
  return fail(ExitCode::unavailable,
              "pid {} holds a temporary filter; try again when it has disconnected", owner.pid);
}

}  // namespace

Result<> FilterControl::apply(const FilterSettings& settings, const FilterSettings* parked) {
  auto applied = kernel_.apply(settings, parked);
  if (applied) current_ = settings;
  return applied;
}

Result<> FilterControl::set(const FilterSettings& settings) {
  if (temporary_) return owned_by(temporary_->owner);
  const auto change = applier_.begin_change();
  auto applied = apply(settings);
  if (applied) select_syscalls();
  kernel_.attach_followers();
  applier_.reconcile();  // following may have ended
  return applied;
}

Result<> FilterControl::set_temporary(const FilterSettings& settings, const FilterOwner& owner) {
  if (temporary_ && temporary_->owner.key != owner.key) return owned_by(temporary_->owner);
  const auto change = applier_.begin_change();
  const FilterSettings lasting_before = lasting();
  if (auto applied = apply(settings, &lasting_before); !applied) return applied;
  temporary_ = {.owner = owner, .lasting = lasting_before};
  select_syscalls();
  kernel_.attach_followers();
  applier_.reconcile();
  return {};
}

void FilterControl::end_temporary(const void* owner) {
  if (!temporary_ || temporary_->owner.key != owner) return;
  const Temporary temporary = std::move(*temporary_);
  temporary_.reset();
  // The filter was valid before. It still is, unless one of its control groups has been removed.
  if (auto restored = set(temporary.lasting); !restored)
    spdlog::error("cannot replace the temporary filter of pid {}: {}; set another filter",
                  temporary.owner.pid, restored.error().message);
}

Result<> FilterControl::set_lasting(const FilterSettings& settings) {
  if (!temporary_) return apply(settings);
  FilterSettings temporary = current_;
  temporary.syscall = settings.syscall;
  if (auto applied = apply(temporary, &settings); !applied) return applied;
  temporary_->lasting = settings;
  return {};
}

}  // namespace ktraced
