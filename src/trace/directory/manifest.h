// SPDX-License-Identifier: BSD-2-Clause
// The description of a trace: manifest.json in its directory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/schema.h"
#include "trace/directory/ctf_metadata.h"

namespace ktraced {

// Counts of one event on one CPU of a trace.
struct EventAccount {
  uint64_t records = 0;      // in the trace
  uint64_t overwritten = 0;  // older ones, already overwritten in the flight ring
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
  // Version of the format (docs/trace-format.md). Readers accept from the oldest to this one.
  // Traces without stacks have the version before, which readers without stacks accept too.
  static constexpr uint64_t kFormat = 4;
  static constexpr uint64_t kOldestFormat = 1;

  TraceKind kind = TraceKind::snapshot;
  std::string name;
  std::string reason;        // why it was taken, as given by the requester
  std::string requested_by;  // "signal", "pid 12 (uid 0)", …
  TraceOrigin origin;
  uint64_t begin_ns = 0;  // window that all CPUs cover, CLOCK_BOOTTIME; see window_of()
  uint64_t end_ns = 0;
  // When the rings of a snapshot became empty, CLOCK_BOOTTIME; at begin_ns or before. From then on
  // at least one CPU has all its records. 0: no CPU has, or it is not known.
  uint64_t since_ns = 0;
  // Name changes of a snapshot before this may be missing; ns, CLOCK_BOOTTIME; 0: none is.
  uint64_t names_since_ns = 0;
  // Name of the snapshot in the same directory that ends at start_ns(); it may have been removed
  // since. Empty: there was none, or what came right after it is on no CPU.
  std::string previous;
  uint64_t taken_realtime_ns = 0;
  std::vector<CpuAccount> cpus;
  std::map<std::string, uint64_t> missed;  // event → hits that the kernel missed, sum of all CPUs
  // Event → hits that a filter rejected, sum of all CPUs. Nothing: not known.
  std::optional<std::map<std::string, uint64_t>> filtered;
  // All command lines of processes were read in time. If not, the trace may be complete
  // nevertheless.
  bool commands_complete = true;
  // Why the trace is incomplete; empty: it is complete.
  std::vector<std::string> incomplete_because;
  nlohmann::json config;  // the trace config when it was taken
  Schema schema;

  // From here on at least one CPU has all its records; CLOCK_BOOTTIME.
  [[nodiscard]] uint64_t start_ns() const {
    return since_ns == 0 ? begin_ns : std::min(since_ns, begin_ns);
  }
  [[nodiscard]] bool complete() const { return incomplete_because.empty(); }
  [[nodiscard]] EventAccount total() const;
};

// The time window of a trace, ns of CLOCK_BOOTTIME. A flight ring that has overwritten records
// begins at a time of its own, which differs from CPU to CPU. Other CPUs begin with the trace.
struct TraceWindow {
  uint64_t begin_ns = 0;  // the common window: from here on, all CPUs have their records
  uint64_t end_ns = 0;
  uint64_t furthest_ns = 0;  // where the first CPU begins: at begin_ns or before

  // Do some CPUs reach further back than others?
  [[nodiscard]] bool differs() const { return furthest_ns < begin_ns; }
};
[[nodiscard]] TraceWindow window_of(const Manifest& manifest);

// Adds to `incomplete_because` what is missing according to the counts: lost events, missed hits.
void add_losses(Manifest& manifest);

[[nodiscard]] nlohmann::json manifest_to_json(const Manifest& manifest);
// The manifest that manifest_to_json() has written. The JSON is untrusted: fails with
// ExitCode::data, naming the member, if it is no manifest or has a format that this version does
// not read.
[[nodiscard]] Result<Manifest> manifest_from_json(const nlohmann::json& json);

// The parts of a manifest that a list of traces needs.
struct ManifestSummary {
  // Large members that are skipped when reading.
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
// The summary of a manifest in JSON, which needs no members but those that it keeps. Fails as
// manifest_from_json().
[[nodiscard]] Result<ManifestSummary> manifest_summary_from_json(const nlohmann::json& json);

}  // namespace ktraced
