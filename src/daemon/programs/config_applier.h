// SPDX-License-Identifier: BSD-2-Clause
// The interface through which parts of the trace config take effect.
#pragma once

#include <memory>

namespace ktraced {

// Brings the kernel in line with the trace config. Whatever changes a part of the config (events,
// probes, filter, readers) calls it afterwards. Belongs to the main thread.
class ConfigApplier {
 public:
  virtual ~ConfigApplier() = default;
  // Starts to attach exactly the programs that are needed now. Disabled events record nothing from
  // now on, even if they are not detached yet.
  virtual void reconcile() = 0;
  // Records the trace config in the history if it has changed.
  virtual void note_config() = 0;
  // Marks the time until the result is destroyed as a change: if the daemon dies meanwhile, the
  // next daemon treats the trace config as unknown. May be nested.
  [[nodiscard]] virtual std::shared_ptr<void> begin_change() = 0;
};

}  // namespace ktraced
