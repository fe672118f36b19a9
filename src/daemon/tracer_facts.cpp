// What traces are told by the tracer: names, and how they came to be.
#include <algorithm>

#include "base/clock.h"
#include "base/host.h"
#include "daemon/tracer.h"
#include "trace/event_records.h"

namespace ktraced {

std::vector<std::byte> Tracer::name_records() const {
  // What waits in the stream rings, or in a queue, is not older.
  constexpr uint64_t kRecentNs = 10'000'000'000;
  const uint64_t now = boottime_ns();
  return names_since(now - std::min(now, kRecentNs)).records;
}

KernelNames::History Tracer::names_since(uint64_t ns) const {
  names_.check();
  return names_.history(ns);
}

std::vector<PacketBytes> Tracer::names_packets() const {
  std::vector<std::byte> records = name_records();
  // Those that were defined after the schema was sent are among them.
  for (const auto& [id, event] : dynamic_.all()) {
    const auto record = event_record(event->event, 0);
    records.insert(records.end(), record.begin(), record.end());
  }
  const auto scope = scope_record(*in_force(), 0);
  records.insert(records.end(), scope.begin(), scope.end());
  // Nothing has been sent yet: the packets promise nothing, and do not count.
  uint64_t sequence = 0;
  return build_names_packets(uuid_, sequence, 0, records);
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
  manifest.config = *in_force();
  return manifest;
}

HitCounts Tracer::missed() const {
  HitCounts counts;
  std::lock_guard lock(schema_mutex_);
  for (const Event& event : schema_.events())
    if (const uint64_t count = missed(event); count != 0) counts[event.name] += count;
  return counts;
}

Tracer::InForce Tracer::in_force() const {
  std::lock_guard lock(in_force_mutex_);
  return in_force_;
}

nlohmann::json Tracer::in_force_since(uint64_t ns) const {
  if (changes_.empty()) return nlohmann::json::object();
  auto later = std::ranges::upper_bound(changes_, ns, {}, &ScopeChange::ns);
  if (later != changes_.begin()) --later;
  nlohmann::json config = *later->in_force;
  for (++later; later != changes_.end(); ++later)
    config["changes"].push_back({{"ns", later->ns}, {"config", *later->in_force}});
  return config;
}

// Whatever changes what is traced comes by here, also when nothing has changed in fact.
void Tracer::note_in_force() {
  nlohmann::json now = {
      {"events", enabled_},
      {"syscalls_only", filters_.current().syscall},
      {"filter", filter_to_json(filters_.current())},
      {"flight", {{"buffer_kb", config_.flight.buffer_kb}, {"banks", config_.flight.banks}}},
      {"stream", {{"buffer_kb", rings_.ring_bytes() / 1024}}},
      {"state", paused_ ? "paused" : "running"}};
  if (in_force_ != nullptr && *in_force_ == now) return;
  {
    std::lock_guard lock(in_force_mutex_);
    in_force_ = std::make_shared<const nlohmann::json>(std::move(now));
  }
  const uint64_t ns = boottime_ns();
  if (changes_.size() >= kMaxChanges) changes_.pop_front();
  changes_.push_back({.ns = ns, .in_force = in_force_});
  if (streaming_) drain_->tell(scope_record(*in_force_, ns));
  if (on_change_) on_change_(in_force_);
}

}  // namespace ktraced
