// SPDX-License-Identifier: BSD-2-Clause
// What a trace directory says about itself: manifest.json.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "schema/schema.h"
#include "trace/ctf_metadata.h"

namespace ktraced {

// Counts of one event on one CPU of a trace.
struct EventAccount {
  uint64_t records = 0;      // in the trace
  uint64_t overwritten = 0;  // older ones, which the flight ring no longer had
  uint64_t lost = 0;         // dropped: no room in a ring

  bool operator==(const EventAccount&) const = default;
};

// One CPU of a trace.
struct CpuAccount {
  uint32_t cpu = 0;
  uint64_t first_ns = 0;  // time of the first and the last record, CLOCK_BOOTTIME
  uint64_t last_ns = 0;
  std::map<std::string, EventAccount> events;

  [[nodiscard]] EventAccount total() const;
};

enum class TraceKind { snapshot, recording };

struct Manifest {
  static constexpr int kFormat = 1;  // readers refuse a newer one

  TraceKind kind = TraceKind::snapshot;
  std::string name;
  std::string reason;        // why it was taken, in the words of who took it
  std::string requested_by;  // "signal", "pid 12 (uid 0)", …
  TraceOrigin origin;
  uint64_t begin_ns = 0;  // window covered, CLOCK_BOOTTIME
  uint64_t end_ns = 0;
  uint64_t taken_realtime_ns = 0;
  std::vector<CpuAccount> cpus;
  std::map<std::string, uint64_t> missed;  // event → hits the kernel skipped, all CPUs together
  // Why the trace cannot be called complete; empty: it is.
  std::vector<std::string> incomplete_because;
  nlohmann::json config;  // in force when it was taken
  Schema schema;

  [[nodiscard]] bool complete() const { return incomplete_because.empty(); }
  [[nodiscard]] EventAccount total() const;
};

// The time that is known of a trace, ns of CLOCK_BOOTTIME. A flight ring that was full has a
// beginning of its own on each CPU: what lies before the oldest of them is no part of the trace.
struct TraceWindow {
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
};
[[nodiscard]] TraceWindow window_of(const Manifest& manifest);

// Adds to `incomplete_because` what the counts say is missing: events lost, hits skipped.
void add_losses(Manifest& manifest);

[[nodiscard]] nlohmann::json manifest_to_json(const Manifest& manifest);
// The way back. The JSON may come from anybody: fails with ExitCode::data, naming the member, for
// anything but a manifest, and for one of a newer format.
[[nodiscard]] Result<Manifest> manifest_from_json(const nlohmann::json& json);

// What a list of traces needs of a manifest.
struct ManifestSummary {
  // Large members that it is read without.
  static constexpr std::array<std::string_view, 3> kSkipped = {"schema", "config", "events"};

  struct Cpu {
    uint32_t cpu = 0;
    uint64_t first_ns = 0;
    uint64_t last_ns = 0;
    EventAccount total;
  };
  Manifest manifest;  // without config and schema, and `cpus` without events
  std::vector<Cpu> cpus;
};
[[nodiscard]] TraceWindow window_of(const ManifestSummary& summary);
// Fails as manifest_from_json(), but needs none of the members skipped.
[[nodiscard]] Result<ManifestSummary> manifest_summary_from_json(const nlohmann::json& json);

}  // namespace ktraced
