// SPDX-License-Identifier: BSD-2-Clause
// Changes the sizes of the flight recorder while sessions record.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/capture/reconciler.h"
#include "daemon/events/event_catalog.h"
#include "daemon/sessions/session_set.h"
#include "kernel/programs/bpf_object.h"
#include "kernel/programs/program_barrier.h"
#include "kernel/rings/flight_recorder.h"

namespace ktraced {

// The sizes are constants of the programs. So others are loaded, which share all maps but the rings
// with the current ones, and take their place while all sessions are paused. Belongs to the main
// thread.
class FlightResize {
 public:
  // What it depends on; all outlive it.
  struct Parts {
    BpfObject& object;
    EventCatalog& catalog;
    Catchers& catchers;
    FlightRecorder& flight;
    SessionSet& sessions;
    Reconciler& reconciler;
    ProgramBarrier& barrier;
  };

  // Prepares everything that can fail; nothing in use is changed. `id`: of the object with the new
  // sizes. Fails with ExitCode::os.
  static Result<std::unique_ptr<FlightResize>> prepare(const Parts& parts, NewFlight next,
                                                       std::string id);
  FlightResize(const FlightResize&) = delete;
  FlightResize& operator=(const FlightResize&) = delete;
  // Drops what was prepared and not committed.
  ~FlightResize();

  // Pauses all sessions, detaches the old programs, and puts the new ones and their rings in their
  // place. Returns with the sessions suspended: the caller ends that and reconciles. Takes some
  // hundred milliseconds. If `save`, the history is in the recorder's retired bank; else it is
  // discarded: returns the number of its records.
  uint64_t commit(bool save);

 private:
  FlightResize(const Parts& parts, NewFlight next, std::string id, BankLog log);
  void detach();
  uint64_t replace(bool save);

  Parts p_;
  NewFlight next_;
  std::string id_;
  BankLog log_;
  std::vector<std::string> programs_;  // that are replaced
  bool committed_ = false;
};

}  // namespace ktraced
