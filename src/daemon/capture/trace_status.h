// SPDX-License-Identifier: BSD-2-Clause
// The state of the trace, for `status`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/capture/event_accounts.h"
#include "daemon/events/event_catalog.h"
#include "daemon/programs/availability.h"
#include "daemon/stream/rings.h"
#include "daemon/stream/stream_control.h"

namespace ktraced {

struct EventStatus {
  bool enabled = false;  // and available
  bool attached = false;
  std::optional<std::string> reason;  // why it is not available; none: it is
  EventCounters counters;
  std::vector<CpuEventCounts> per_cpu;
};

struct StreamRingStatus {
  uint32_t cpu = 0;
  size_t ring_bytes = 0;
  uint64_t consumed = 0;  // bytes, since the ring was created
  uint64_t produced = 0;
};

struct StreamStatus {
  bool on = false;
  size_t ring_bytes = 0;
  uint32_t max_latency_ms = 0;
  uint64_t late_records = 0;
  uint64_t names_dropped = 0;
  std::vector<StreamRingStatus> rings;
};

struct FlightStatus {
  bool enabled = false;
  size_t bytes = 0;       // memory of all banks
  uint64_t since_ns = 0;  // see FlightRecorder::Reach
};

struct TraceStatus {
  std::map<std::string, EventStatus> events;  // without dynamic ones that are unused
  EventCounters totals;
  StreamStatus stream;
  FlightStatus flight;
};

// Reads the state of the trace. Belongs to the main thread.
class StatusReader {
 public:
  // All must outlive this.
  StatusReader(const EventCatalog& catalog, const Availability& availability,
               const EventSet& enabled, const EventAccounts& accounts, const Rings& rings,
               const StreamControl& stream)
      : catalog_(catalog),
        availability_(availability),
        enabled_(enabled),
        accounts_(accounts),
        rings_(rings),
        stream_(stream) {}

  [[nodiscard]] TraceStatus read() const;
  // `overwritten`: as for EventAccounts::read().
  [[nodiscard]] EventStatus of(const Event& event, uint64_t overwritten) const;

 private:
  [[nodiscard]] bool is_unused(const Event& event) const;
  [[nodiscard]] StreamStatus stream() const;

  const EventCatalog& catalog_;
  const Availability& availability_;
  const EventSet& enabled_;
  const EventAccounts& accounts_;
  const Rings& rings_;
  const StreamControl& stream_;
};

}  // namespace ktraced
