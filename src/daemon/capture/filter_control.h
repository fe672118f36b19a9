// SPDX-License-Identifier: BSD-2-Clause
// The lasting filter and the temporary filter.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "daemon/programs/config_applier.h"
#include "kernel/filters/filter_settings.h"

namespace ktraced {

// The owner of a temporary filter.
struct FilterOwner {
  const void* key = nullptr;  // identifies the owner
  pid_t pid = 0;
  uid_t uid = 0;
};

// A temporary filter replaces the lasting one as long as its owner is connected. Belongs to the
// main thread.
class FilterControl {
 public:
  // The functions that do the work in the kernel.
  struct Kernel {
    // As Filters::apply().
    std::function<Result<>(const FilterSettings& settings, const FilterSettings* parked)> apply;
    std::function<void(const std::vector<std::string>& names)> select_syscalls;
    // Attaches the programs that follow processes, if the filter needs them.
    std::function<void()> attach_followers;
  };
  struct Temporary {
    FilterOwner owner;
    FilterSettings lasting;  // restored when the temporary filter ends
  };

  // `applier` must outlive this.
  FilterControl(Kernel kernel, ConfigApplier& applier)
      : kernel_(std::move(kernel)), applier_(applier) {}

  [[nodiscard]] const FilterSettings& current() const { return current_; }
  [[nodiscard]] const FilterSettings& lasting() const {
    return temporary_ ? temporary_->lasting : current_;
  }
  // Nothing if there is none.
  [[nodiscard]] const std::optional<Temporary>& temporary() const { return temporary_; }

  // Fails as Filters::apply(), and with ExitCode::unavailable while there is a temporary filter.
  Result<> set(const FilterSettings& settings);
  // Sets a temporary filter, until end_temporary(). The same owner may change it. Fails as set().
  // The processes that the lasting filter follows stay followed.
  Result<> set_temporary(const FilterSettings& settings, const FilterOwner& owner);
  // Restores the lasting filter, or the one that the configuration has set since. Does nothing if
  // this owner has no temporary filter.
  void end_temporary(const void* owner);

  // Sets the lasting filter of a configuration; a temporary filter stays active. The caller calls
  // select_syscalls() and reconciles. Fails as Filters::apply().
  Result<> set_lasting(const FilterSettings& settings);
  // Selects the system calls of the current filter.
  void select_syscalls() { kernel_.select_syscalls(current_.syscall); }

 private:
  Result<> apply(const FilterSettings& settings, const FilterSettings* parked = nullptr);

  Kernel kernel_;
  ConfigApplier& applier_;
  FilterSettings current_;
  std::optional<Temporary> temporary_;
};

}  // namespace ktraced
