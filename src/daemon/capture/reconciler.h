// SPDX-License-Identifier: BSD-2-Clause
// Decides which programs must be attached.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/capture/call_hooks.h"
#include "daemon/capture/stack_hooks.h"
#include "daemon/capture/trace_config_history.h"
#include "daemon/events/event_catalog.h"
#include "daemon/programs/availability.h"
#include "daemon/programs/config_applier.h"
#include "daemon/programs/program_attacher.h"
#include "daemon/programs/task_tracking.h"
#include "daemon/sessions/session_ledger.h"
#include "daemon/sessions/session_set.h"
#include "kernel/catchers/catchers.h"
#include "kernel/filters/filters.h"

namespace ktraced {

// Lets the attacher attach exactly the programs that the sessions and their filters need, and keeps
// the history of the trace config. Belongs to the main thread.
class Reconciler final : public ConfigApplier {
 public:
  // What it depends on; all outlive it.
  struct Parts {
    const BpfObject& object;
    const Availability& availability;
    const EventCatalog& catalog;
    const SessionSet& sessions;
    CallHooks& calls;
    StackHooks& stacks;
    const Catchers& catchers;
    SessionLedger& ledger;
    const Filters& filters;
    TaskTracking& tracking;
    ProgramAttacher& attacher;
    TraceConfigHistory& history;
  };
  using SharedConfig = TraceConfigHistory::Config;
  using OnChange = std::function<void(uint32_t session, const SharedConfig& config, uint64_t ns)>;

  // `sizes`: of the flight recorder. `on_change` is called after each config change of a session.
  Reconciler(const Parts& parts, const BpfSizes& sizes, OnChange on_change)
      : p_(parts), sizes_(sizes), on_change_(std::move(on_change)) {}

  void reconcile() override;
  void note_config() override;
  [[nodiscard]] std::shared_ptr<void> begin_change() override;

  // The trace config of a session; of the recorder, if the session does not exist. Thread-safe.
  [[nodiscard]] SharedConfig config_of(uint32_t session) const;

  // Attaches what filters need, before they are set, in slices; then calls back, perhaps at once.
  // Until `then` returns, nothing of it is detached. Fails as ProgramAttacher::prepare().
  void prepare(const TaskTracking::Tracked& tracked, ProgramAttacher::OnAttached then);

  // To be called when the attacher has finished.
  void note_attached();
  // Cancels all pending attaching and detaching.
  void drop_work();
  // The daemon ends: from now on nothing is attached or detached.
  void close() { closed_ = true; }

 private:
  void switch_events();
  void move_calls();
  void move_stacks();
  [[nodiscard]] bool direct(const Event& event) const;
  [[nodiscard]] bool attached(const Session& session, const std::string& event) const;
  [[nodiscard]] std::vector<ProgramNeed> needs() const;
  [[nodiscard]] EventSet traced_events(const Session& session) const;
  [[nodiscard]] bool with_stacks(const Session& session, const std::string& event) const;
  [[nodiscard]] nlohmann::json describe(const Session& session) const;

  Parts p_;
  BpfSizes sizes_;
  OnChange on_change_;
  bool closed_ = false;
  uint32_t moving_ = 0;  // sessions that record calls elsewhere from now on: nowhere meanwhile
  StackHooks::SessionsByEvent moving_stacks_;  // those that record an event by its other program
  std::optional<TraceConfigHistory::Change> changing_;  // while programs remain to be attached
  mutable std::mutex mutex_;
  std::map<uint32_t, SharedConfig> configs_;  // of sessions but the recorder; guarded by mutex_
};

}  // namespace ktraced
