// SPDX-License-Identifier: BSD-2-Clause
// Metadata for readers and traces: names, event definitions, origin and trace config.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/capture/missed_hits.h"
#include "daemon/capture/reconciler.h"
#include "daemon/events/event_catalog.h"
#include "kernel/symbols/command_lines.h"
#include "kernel/symbols/kernel_names.h"
#include "trace/directory/manifest.h"
#include "trace/packet/packet_builder.h"
#include "trace/symbols/build_ids.h"

namespace ktraced {

class TraceMetadata {
 public:
  // All must outlive this.
  TraceMetadata(const EventCatalog& catalog, const KernelNames& names, const Reconciler& configs,
                const SessionLedger& ledger);

  // Identifies the traces of this daemon.
  [[nodiscard]] const Uuid& uuid() const { return uuid_; }
  [[nodiscard]] const std::string& kernel_release() const { return kernel_release_; }

  // Metadata records of all names known now and until a moment ago, and of the command lines of
  // processes; `only_of`: command lines of this user only. Waits for /proc no longer than
  // CommandLines::kBriefly. Thread-safe.
  [[nodiscard]] std::vector<std::byte> records(std::optional<uid_t> only_of = std::nullopt) const;
  // All names known of the time since `ns`.
  [[nodiscard]] KernelNames::History names_since(uint64_t ns) const;
  // The command lines of all processes that live now. Thread-safe.
  [[nodiscard]] const CommandLines& commands() const { return commands_; }
  // The build ids of mapped files. Thread-safe.
  [[nodiscard]] const BuildIds& build_ids() const { return build_ids_; }
  // The first packets for a new reader of a session. `only_of`: command lines of this user only.
  // Main thread.
  [[nodiscard]] std::vector<PacketBytes> packets(uint32_t session,
                                                 std::optional<uid_t> only_of) const;
  // A manifest with origin, schema and the trace config of a session. Thread-safe.
  [[nodiscard]] Manifest manifest(uint32_t session) const;
  // Hits that the kernel has missed so far in a session of the daemon itself, by event, without
  // zero counts. Never decreases. Thread-safe.
  [[nodiscard]] HitCounts missed(uint32_t session) const;

 private:
  const EventCatalog& catalog_;
  const KernelNames& names_;
  const Reconciler& configs_;
  const SessionLedger& ledger_;
  CommandLines commands_;
  BuildIds build_ids_;
  Uuid uuid_;
  std::string kernel_release_;
};

}  // namespace ktraced
