// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/control/output_json.h"

namespace ktraced {
namespace {

using nlohmann::json;

json account_json(const EventAccount& account) {
  return {
      {"records", account.records}, {"overwritten", account.overwritten}, {"lost", account.lost}};
}

// The snapshot that was written last; null: there is none.
json last_json(const Result<SnapshotList::Sum>& sum) {
  if (!sum || !sum->last) return nullptr;
  return {
      {"name", sum->last->name}, {"begin_ns", sum->last->begin_ns}, {"end_ns", sum->last->end_ns}};
}

// The accounts of the CPUs, without their events.
json cpus_json(const std::vector<ManifestSummary::Cpu>& cpus) {
  json list = json::array();
  for (const ManifestSummary::Cpu& cpu : cpus) {
    json entry = account_json(cpu.total);
    entry.update({{"cpu", cpu.cpu}, {"first_ns", cpu.first_ns}, {"last_ns", cpu.last_ns}});
    list.push_back(std::move(entry));
  }
  return list;
}

json window_json(const TraceWindow& window) {
  json out = {{"begin_ns", window.begin_ns}, {"end_ns", window.end_ns}};
  if (window.differs()) out["furthest_ns"] = window.furthest_ns;
  return out;
}

json content_json(const SnapshotEntry::Content& content) {
  json out = account_json(content.total);
  out.update({{"kind", "snapshot"},
              {"reason", content.reason},
              {"requested_by", content.requested_by},
              {"previous", text_or_null(content.previous)},
              {"taken_realtime_ns", content.taken_realtime_ns},
              {"begin_ns", content.begin_ns},
              {"end_ns", content.end_ns},
              {"window", window_json(content.window)},
              {"missed", content.missed},
              {"cpus", cpus_json(content.cpus)}});
  return out;
}

json entry_json(const SnapshotEntry& snapshot) {
  json entry = snapshot.content ? content_json(*snapshot.content) : json{{"unreadable", true}};
  entry.update({{"name", snapshot.name},
                {"path", snapshot.path.string()},
                {"bytes", snapshot.bytes},
                {"kept", snapshot.kept},
                {"complete", snapshot.incomplete_because.empty()},
                {"incomplete_because", snapshot.incomplete_because}});
  return entry;
}

}  // namespace

json text_or_null(const std::string& text) { return text.empty() ? json() : json(text); }

json output_json(const OutputStatus& status) {
  if (!status.settings) return {{"enabled", false}};
  return {{"enabled", true},
          {"directory", status.settings->directory.string()},
          {"max_file_mb", status.settings->max_file_mb},
          {"max_files", status.settings->max_files},
          {"trace", text_or_null(status.trace)},
          {"last_trace", text_or_null(status.last_trace)},
          {"bytes", status.bytes},
          {"files", status.files},
          {"queued_bytes", status.queued_bytes},
          {"lost_events", status.lost_events},
          {"failing", status.failing},
          {"last_error", text_or_null(status.last_error)}};
}

json subscribers_json(const std::vector<SubscriberStatus>& subscribers) {
  json list = json::array();
  for (const SubscriberStatus& subscriber : subscribers)
    list.push_back({{"session", subscriber.session},
                    {"pid", subscriber.pid},
                    {"uid", subscriber.uid},
                    {"queued_bytes", subscriber.queued_bytes},
                    {"sent_packets", subscriber.sent_packets},
                    {"lost_events", subscriber.lost_events},
                    {"since_s", subscriber.age.count()}});
  return list;
}

json snapshots_json(const std::vector<SnapshotEntry>& snapshots) {
  json list = json::array();
  for (const SnapshotEntry& snapshot : snapshots) list.push_back(entry_json(snapshot));
  return list;
}

json pair_json(const SnapshotPair& pair) {
  return {{"path", pair.previous.string()},
          {"show", pair.show},
          {"records", pair.records},
          {"complete", pair.incomplete_because.empty()},
          {"incomplete_because", pair.incomplete_because},
          {"window", {{"begin_ns", pair.begin_ns}, {"end_ns", pair.end_ns}}}};
}

json listing_json(const SnapshotListing& listing) {
  return {{"directory", listing.directory.string()},
          {"snapshots", snapshots_json(listing.snapshots)},
          {"writing", listing.writing}};
}

json snapshots_status_json(const SnapshotsStatus& status) {
  const auto& sum = status.sum;
  return {{"banks", status.banks},
          {"directory", status.directory.string()},
          {"ring_bytes", status.ring_bytes},
          {"frozen", status.frozen},
          {"waiting", status.waiting},
          {"unsaved", status.unsaved.empty() ? json() : json(status.unsaved)},
          {"snapshots", sum ? json(sum->count) : json()},
          {"snapshots_bytes", sum ? json(sum->bytes) : json()},
          {"snapshots_kept", sum ? json(sum->kept) : json()},
          {"last_snapshot", last_json(sum)},
          {"snapshots_unknown", sum ? json() : json(sum.error().message)},
          {"evicted", status.retention.evicted},
          {"evicted_bytes", status.retention.evicted_bytes},
          {"limits_exceeded", status.retention.limits_exceeded}};
}

}  // namespace ktraced
