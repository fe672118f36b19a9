// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/trace_metadata.h"

#include <spdlog/spdlog.h>
#include <sys/utsname.h>
#include <systemd/sd-id128.h>

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "base/files/host.h"
#include "trace/metadata/event_records.h"

namespace ktraced {
namespace {

Uuid random_uuid() {
  sd_id128_t id{};
  if (const int error = ::sd_id128_randomize(&id); error < 0)
    spdlog::warn("the traces of this daemon have no unique id: {}", errno_text(-error));
  return std::to_array(id.bytes);
}

std::string running_release() {
  utsname names{};
  ::uname(&names);
  return names.release;
}

}  // namespace

TraceMetadata::TraceMetadata(const EventCatalog& catalog, const KernelNames& names,
                             const Reconciler& configs, const SessionLedger& ledger)
    : catalog_(catalog),
      names_(names),
      configs_(configs),
      ledger_(ledger),
      uuid_(random_uuid()),
      kernel_release_(running_release()) {}

std::vector<std::byte> TraceMetadata::records(std::optional<uid_t> only_of) const {
  // Records in the stream rings, or in a queue, are not older.
  constexpr uint64_t kRecentNs = 10'000'000'000;
  const uint64_t now = boottime_ns();
  std::vector<std::byte> records = names_since(now - std::min(now, kRecentNs)).records;
  const auto commands = commands_.records(only_of, CommandLines::Wait::briefly);
  records.insert(records.end(), commands.begin(), commands.end());
  return records;
}

KernelNames::History TraceMetadata::names_since(uint64_t ns) const {
  names_.check();
  return names_.history(ns);
}

std::vector<PacketBytes> TraceMetadata::packets(uint32_t session,
                                                std::optional<uid_t> only_of) const {
  std::vector<std::byte> records = this->records(only_of);
  // Includes events that were defined after the schema was sent.
  const auto definitions = catalog_.definitions();
  records.insert(records.end(), definitions.begin(), definitions.end());
  const auto config = config_records(*configs_.config_of(session), 0);
  records.insert(records.end(), config.begin(), config.end());
  // Nothing has been sent yet: these packets do not advance the watermark or the sequence number.
  uint64_t sequence = 0;
  return build_metadata_packets(uuid_, sequence, {}, records);
}

HitCounts TraceMetadata::missed(uint32_t session) const {
  return catalog_.sums([&](const Event& event) { return ledger_.missed(session, event.id); });
}

Manifest TraceMetadata::manifest(uint32_t session) const {
  Manifest manifest;
  manifest.taken_realtime_ns = clock_ns(CLOCK_REALTIME);
  manifest.origin = {.uuid = uuid_,
                     .host = host_name(),
                     .kernel = kernel_release_,
                     .clock_offset_ns = clock_offset_ns(),
                     .boot_id = boot_id()};
  manifest.schema = catalog_.schema_copy();
  manifest.config = *configs_.config_of(session);
  return manifest;
}

}  // namespace ktraced
