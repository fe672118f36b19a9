// SPDX-License-Identifier: BSD-2-Clause
// Metadata for traces: names, event definitions and trace configs.
#include <algorithm>

#include "base/clock.h"
#include "base/files/host.h"
#include "daemon/capture/tracer.h"
#include "trace/metadata/event_records.h"

namespace ktraced {

std::vector<std::byte> Tracer::metadata_records() const {
  // Records in the stream rings, or in a queue, are not older.
  constexpr uint64_t kRecentNs = 10'000'000'000;
  const uint64_t now = boottime_ns();
  return names_since(now - std::min(now, kRecentNs)).records;
}

KernelNames::History Tracer::names_since(uint64_t ns) const {
  names_.check();
  return names_.history(ns);
}

std::vector<PacketBytes> Tracer::metadata_packets() const {
  std::vector<std::byte> records = metadata_records();
  // Includes events that were defined after the schema was sent.
  for (const auto& [id, event] : dynamic_.all()) {
    const auto record = event_record(event->event, 0);
    records.insert(records.end(), record.begin(), record.end());
  }
  const auto config = config_record(*current_config(), 0);
  records.insert(records.end(), config.begin(), config.end());
  // Nothing has been sent yet: these packets do not advance the watermark or the sequence number.
  uint64_t sequence = 0;
  return build_metadata_packets(uuid_, sequence, 0, records);
}

Manifest Tracer::manifest() const {
  Manifest manifest;
  manifest.taken_realtime_ns = clock_ns(CLOCK_REALTIME);
  manifest.origin = {.uuid = uuid_,
                     .host = host_name(),
                     .kernel = kernel_release_,
                     .clock_offset_ns = static_cast<int64_t>(clock_ns(CLOCK_REALTIME)) -
                                        static_cast<int64_t>(boottime_ns()),
                     .boot_id = boot_id()};
  std::lock_guard lock(schema_mutex_);
  manifest.schema = schema_;
  manifest.config = *current_config();
  return manifest;
}

HitCounts Tracer::missed() const {
  HitCounts counts;
  std::lock_guard lock(schema_mutex_);
  for (const Event& event : schema_.events())
    if (const uint64_t count = missed(event); count != 0) counts[event.name] += count;
  return counts;
}

// An enabled event is traced from when it is attached.
std::set<std::string> Tracer::traced_events() const {
  const bool tracing = (streaming_ || flight_.enabled()) && !paused_;
  std::set<std::string> traced = enabled_;
  std::erase_if(traced, [&](const std::string& name) {
    if (why_unavailable(name) != nullptr) return true;
    const DynamicEvent* dynamic = dynamic_.find(name);
    return tracing &&
           !(dynamic != nullptr ? dynamic_.attached(dynamic->event.id) : object_.attached(name));
  });
  return traced;
}

// Called after every possible change of the trace config, even if nothing has changed.
void Tracer::note_config() {
  nlohmann::json now = {
      {"events", traced_events()},
      {"syscalls_only", filters_.current().syscall},
      {"filter", filter_to_json(filters_.current())},
      {"flight", {{"buffer_kb", config_.flight.buffer_kb}, {"banks", config_.flight.banks}}},
      {"stream", {{"buffer_kb", rings_.ring_bytes() / 1024}}},
      {"state", paused_ ? "paused" : "running"}};
  const auto ns = trace_configs_.note(std::move(now));
  if (!ns) return;
  const SharedConfig config = current_config();
  if (streaming_) drain_->announce(config_record(*config, *ns));
  if (on_change_) on_change_(config);
}

}  // namespace ktraced
