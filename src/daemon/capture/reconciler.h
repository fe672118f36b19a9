// SPDX-License-Identifier: BSD-2-Clause
// Decides which programs must be attached.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/capture/trace_config_history.h"
#include "daemon/events/event_catalog.h"
#include "daemon/programs/availability.h"
#include "daemon/programs/config_applier.h"
#include "daemon/programs/program_attacher.h"
#include "daemon/programs/task_tracking.h"
#include "daemon/stream/rings.h"
#include "daemon/stream/stream_control.h"
#include "kernel/filters/filters.h"

namespace ktraced {

// Lets the attacher attach exactly the programs that the enabled events, their readers and the
// filter need, and keeps the history of the trace config. Belongs to the main thread.
class Reconciler final : public ConfigApplier {
 public:
  // What it depends on; all outlive it.
  struct Parts {
    const BpfObject& object;
    const Availability& availability;
    const EventCatalog& catalog;
    const EventSet& enabled;
    const Filters& filters;
    const Rings& rings;
    const StreamControl& stream;
    TaskTracking& tracking;
    ProgramAttacher& attacher;
    TraceConfigHistory& history;
  };
  using SharedConfig = TraceConfigHistory::Config;
  using OnChange = std::function<void(const SharedConfig& config, uint64_t ns)>;

  // `sizes`: of the flight recorder. `on_change` is called after each config change.
  Reconciler(const Parts& parts, const BpfSizes& sizes, OnChange on_change)
      : p_(parts), sizes_(sizes), on_change_(std::move(on_change)) {}

  void reconcile() override;
  void note_config() override;
  [[nodiscard]] std::shared_ptr<void> begin_change() override;

  // While paused, no event is recorded.
  void set_paused(bool paused);
  [[nodiscard]] bool paused() const { return paused_; }

  // To be called when the attacher has finished.
  void note_attached();
  // Cancels all pending attaching and detaching.
  void drop_work();
  // The daemon ends: from now on nothing is attached or detached.
  void close() { closed_ = true; }

 private:
  [[nodiscard]] bool tracing() const;
  [[nodiscard]] bool on(const Event& event) const;
  void switch_events();
  [[nodiscard]] std::vector<ProgramNeed> needs() const;
  [[nodiscard]] EventSet traced_events() const;

  Parts p_;
  BpfSizes sizes_;
  OnChange on_change_;
  bool paused_ = false;
  bool closed_ = false;
  std::optional<TraceConfigHistory::Change> changing_;  // while programs remain to be attached
};

}  // namespace ktraced
