// SPDX-License-Identifier: BSD-2-Clause
// The state of the trace, for `status`.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "daemon/capture/call_hooks.h"
#include "daemon/capture/session_control.h"
#include "daemon/capture/stack_hooks.h"
#include "daemon/events/event_catalog.h"
#include "daemon/programs/availability.h"
#include "daemon/programs/unavailable_helpers.h"
#include "daemon/sessions/session_accounts.h"
#include "daemon/sessions/session_set.h"
#include "daemon/stream/rings.h"

namespace ktraced {

struct CpuEventCounts {
  uint32_t cpu = 0;
  EventCounts counts;
};

// An event of the recorder. The counts are those of the recorder or, if it has never recorded, the
// sum of the other sessions.
struct EventStatus {
  bool enabled = false;  // and available
  bool attached = false;
  std::optional<std::string> reason;  // why it is not available; none: it is
  EventCounters counters;
  uint64_t ignored = 0;  // hits while no session had it on, since its program was loaded
  std::vector<CpuEventCounts> per_cpu;
};

// The counts of an event by kind of session, also those of sessions that have ended.
struct EventTotals {
  EventCounters recorder, output, clients;

  EventTotals& operator+=(const EventTotals& other);
};

struct StreamRingStatus {
  uint32_t cpu = 0;
  size_t ring_bytes = 0;
  uint64_t consumed = 0;  // bytes, since the ring was created
  uint64_t produced = 0;
};

struct StreamStatus {
  uint32_t max_latency_ms = 0;
  bool realtime = false;  // its thread runs before those of normal programs
  uint64_t late_records = 0;
  uint64_t names_dropped = 0;
  size_t total_bytes = 0;  // of the stream rings of all sessions
};

struct SessionStatus {
  enum class State { off, recording, paused };

  std::string name;
  SessionOwner owner;
  uint64_t since_ns = 0;  // CLOCK_BOOTTIME; 0: it has never recorded
  State state = State::off;
  bool own_events = false;
  bool own_filter = false;
  EventSet event_names;
  EventSet stacks;  // those of them that it has with stacks
  FilterSettings filter;
  bool calls_at_functions = false;                  // see CallHooks
  std::optional<std::string> calls_at_tracepoints;  // the reason, if it selects calls
  size_t ring_bytes = 0;
  std::vector<StreamRingStatus> rings;
  std::map<std::string, EventStatus> events;  // with any count
  EventCounters totals;
};

struct FlightStatus {
  bool enabled = false;
  size_t bytes = 0;       // memory of all banks
  uint64_t since_ns = 0;  // see FlightRecorder::Reach
};

// How stacks are taken.
struct StackStatus {
  uint64_t bytes = 0;  // of what programs use for stacks; 0: no event has them
  uint32_t depth = 0;  // frames of a stack, at most
  uint32_t kernel_depth = 0;
};

// The samples of all CPUs.
struct SamplingStatus {
  nlohmann::json config;  // StackHooks::describe_sampling()
  uint64_t samples = 0;   // taken since the programs were loaded, whatever filters say
  uint64_t missing = 0;   // periods without a sample, between two samples
  uint64_t max_rate = 0;  // samples of a CPU in a second that the kernel allows; 0: unknown
};

struct TraceStatus {
  std::map<std::string, EventStatus> events;  // without dynamic ones that are unused
  EventCounters totals;
  StreamStatus stream;
  std::vector<SessionStatus> sessions;
  FlightStatus flight;
  StackStatus stacks;
  std::optional<SamplingStatus> sampling;  // nothing: no CPU is sampled
  std::vector<UnavailableHelper> unavailable_helpers;
};

// Reads the state of the trace. Belongs to the main thread.
class StatusReader {
 public:
  // All must outlive this.
  StatusReader(const EventCatalog& catalog, const Availability& availability,
               const SessionSet& sessions, const CallHooks& calls, const StackHooks& stacks,
               const SessionAccounts& accounts, const Rings& rings, const SessionControl& control)
      : catalog_(catalog),
        availability_(availability),
        sessions_(sessions),
        calls_(calls),
        stacks_(stacks),
        accounts_(accounts),
        rings_(rings),
        control_(control) {}

  [[nodiscard]] TraceStatus read() const;
  // The totals of events by name, without unused dynamic events.
  [[nodiscard]] std::map<std::string, EventTotals> totals() const;
  // How often each program ran, see EventCatalog::runs().
  [[nodiscard]] RunsByProgram runs() const { return catalog_.runs(); }
  // `overwritten`: as for SessionAccounts::read().
  [[nodiscard]] EventStatus of(const Event& event, uint64_t overwritten = 0) const;
  // A session with its rings and counts.
  [[nodiscard]] SessionStatus of(const Session& session) const;
  // All sessions that have a sink, with their rings and counts.
  [[nodiscard]] std::vector<SessionStatus> sessions() const;

 private:
  [[nodiscard]] bool is_unused(const Event& event) const;
  [[nodiscard]] bool attached_at_functions(const Session& session, const Event& event) const;
  // The records of each event that the flight recorder has overwritten, as its Reach has them.
  using Overwritten = std::vector<uint64_t>;
  [[nodiscard]] Overwritten overwritten() const;
  [[nodiscard]] EventStatus status(const Session& session, const Event& event,
                                   SessionAccounts::Reading reading) const;
  [[nodiscard]] SessionStatus of(const Session& session, const Overwritten& overwritten) const;
  [[nodiscard]] std::vector<SessionStatus> sessions(const Overwritten& overwritten) const;
  [[nodiscard]] StreamStatus stream() const;
  [[nodiscard]] std::optional<SamplingStatus> sampling() const;

  const EventCatalog& catalog_;
  const Availability& availability_;
  const SessionSet& sessions_;
  const CallHooks& calls_;
  const StackHooks& stacks_;
  const SessionAccounts& accounts_;
  const Rings& rings_;
  const SessionControl& control_;
};

}  // namespace ktraced
