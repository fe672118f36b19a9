// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshots/snapshot_list.h"

#include <algorithm>

#include "daemon/output/keep_mark.h"
#include "trace/directory/manifest_file.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr size_t kReasonsListed = 32;
constexpr size_t kTextMax = 1024;  // bytes

Result<ManifestSummary> summary_of(const std::filesystem::path& trace,
                                   const std::stop_token& stop = {}) {
  auto directory = TraceDirectory::open(trace);
  if (!directory) return propagate(directory);
  return read_manifest_summary(*directory, stop);
}

bool is_recording(const std::filesystem::path& trace) {
  const auto directory = TraceDirectory::open(trace);
  return directory && read_kind(*directory) == TraceKind::recording;
}

std::string bounded(const std::string& text) {
  return text.size() <= kTextMax ? text : text.substr(0, kTextMax) + "...";
}

json reasons_of(const Manifest& manifest) {
  const std::vector<std::string>& reasons = manifest.incomplete_because;
  json out = json::array();
  for (size_t i = 0; i < std::min(reasons.size(), kReasonsListed); ++i)
    out.push_back(bounded(reasons[i]));
  if (reasons.size() > kReasonsListed)
    out.push_back(fmt::format("and {} more reasons", reasons.size() - kReasonsListed));
  return out;
}

json counts_of(const EventAccount& account) {
  return {
      {"records", account.records}, {"overwritten", account.overwritten}, {"lost", account.lost}};
}

// The accounts of the CPUs, without their events.
json cpu_accounts(const ManifestSummary& summary) {
  json cpus = json::array();
  for (const ManifestSummary::Cpu& cpu : summary.cpus) {
    json entry = counts_of(cpu.total);
    entry.update({{"cpu", cpu.cpu}, {"first_ns", cpu.first_ns}, {"last_ns", cpu.last_ns}});
    cpus.push_back(std::move(entry));
  }
  return cpus;
}

EventAccount sum_of(const std::vector<ManifestSummary::Cpu>& cpus) {
  EventAccount sum;
  for (const ManifestSummary::Cpu& cpu : cpus) {
    sum.records += cpu.total.records;
    sum.overwritten += cpu.total.overwritten;
    sum.lost += cpu.total.lost;
  }
  return sum;
}

json entry_of(const ManifestSummary& summary) {
  const Manifest& manifest = summary.manifest;
  json entry = counts_of(sum_of(summary.cpus));
  uint64_t missed = 0;
  for (const auto& [event, count] : manifest.missed) missed += count;
  const TraceWindow window = window_of(summary);
  entry.update({{"kind", "snapshot"},
                {"complete", manifest.complete()},
                {"incomplete_because", reasons_of(manifest)},
                {"reason", bounded(manifest.reason)},
                {"requested_by", bounded(manifest.requested_by)},
                {"taken_realtime_ns", manifest.taken_realtime_ns},
                {"begin_ns", manifest.begin_ns},
                {"end_ns", manifest.end_ns},
                {"window", {{"begin_ns", window.begin_ns}, {"end_ns", window.end_ns}}},
                {"missed", missed},
                {"cpus", cpu_accounts(summary)}});
  return entry;
}

// Null for a recording.
json entry_of(const StoredTrace& trace, const std::filesystem::path& path,
              const Result<ManifestSummary>& summary) {
  if (summary && summary->manifest.kind == TraceKind::recording) return nullptr;
  json entry = summary ? entry_of(*summary)
                       : json{{"complete", false},
                              {"unreadable", true},
                              {"incomplete_because", {bounded(summary.error().message)}}};
  entry.update({{"name", trace.name}, {"path", path.string()}, {"bytes", trace.bytes}});
  return entry;
}

}  // namespace

const SnapshotList::Known* SnapshotList::known(const StoredTrace& trace,
                                               const std::filesystem::path& path) const {
  const auto found = known_.find(path);
  return found != known_.end() && found->second.written_ns == trace.written_ns ? &found->second
                                                                               : nullptr;
}

void SnapshotList::announce(const TraceStore& store, const std::vector<StoredTrace>& traces,
                            const BeforeReading& before_reading) const {
  Sum sum;
  bool all_known = true;
  for (const StoredTrace& trace : traces) {
    const Known* entry = known(trace, store.path_of(trace.name));
    all_known &= entry != nullptr;
    if (entry != nullptr && entry->entry.is_null()) continue;
    ++sum.count;
    sum.bytes += trace.bytes;
    sum.kept += trace.kept ? 1 : 0;
  }
  if (!all_known) before_reading(sum);
}

Result<std::vector<const json*>> SnapshotList::read(const TraceStore& store,
                                                    const BeforeReading& before_reading) {
  std::vector<const json*> entries;
  std::map<std::string, Known> now_known;
  auto traces = store.list();
  if (!traces) return propagate(traces);
  if (before_reading) announce(store, *traces, before_reading);
  for (const StoredTrace& trace : *traces) {
    const std::filesystem::path path = store.path_of(trace.name);
    Known now;
    if (known(trace, path) != nullptr) {
      now = std::move(known_[path]);
    } else if (stop_.stop_requested()) {
      continue;
    } else {
      const auto summary = summary_of(path, stop_);
      // A manifest that could not be read because descriptors or memory were short may be readable
      // the next time.
      const bool lasting = summary || summary.error().code == ExitCode::data;
      now = {lasting ? trace.written_ns : 0, entry_of(trace, path, summary)};
    }
    if (!now.entry.is_null()) now.entry["kept"] = trace.kept;
    const auto [entry, added] = now_known.emplace(path, std::move(now));
    if (!entry->second.entry.is_null()) entries.push_back(&entry->second.entry);
  }
  known_ = std::move(now_known);
  return entries;
}

Result<json> SnapshotList::entries(const TraceStore& store) {
  auto found = read(store, {});
  if (!found) return propagate(found);
  json entries = json::array();
  for (const json* entry : *found) entries.push_back(*entry);
  return entries;
}

Result<SnapshotList::Sum> SnapshotList::sum(const TraceStore& store,
                                            const BeforeReading& before_reading) {
  auto found = read(store, before_reading);
  if (!found) return propagate(found);
  Sum sum;
  for (const json* entry : *found) {
    ++sum.count;
    sum.bytes += entry->at("bytes").get<uint64_t>();
    sum.kept += entry->at("kept").get<bool>() ? 1 : 0;
  }
  return sum;
}

Result<std::optional<std::string>> find_snapshot(const TraceStore& store,
                                                 const std::string& boot_id, uint64_t end_ns) {
  auto traces = store.list();
  if (!traces) return propagate(traces);
  for (const StoredTrace& trace : *traces) {
    auto summary = summary_of(store.path_of(trace.name));
    if (!summary && summary.error().code != ExitCode::data) return propagate(summary);
    if (!summary) continue;
    const Manifest& manifest = summary->manifest;
    if (manifest.kind == TraceKind::snapshot && manifest.origin.boot_id == boot_id &&
        manifest.end_ns == end_ns)
      return trace.name;
  }
  return std::optional<std::string>();
}

Result<> remove_snapshot(const TraceStore& store, const std::string& name) {
  if (auto checked = check_trace_name(name); !checked) return checked;
  const std::filesystem::path path = store.path_of(name);
  if (is_recording(path))
    return fail(ExitCode::usage, "'{}' is a recording, not a snapshot: remove {} yourself", name,
                path.string());
  if (has_keep_mark(path) == true)
    return fail(
        ExitCode::usage,
        "the snapshot '{}' is kept: to delete it, first run 'ktracectl snapshot keep --undo "
        "{}'",
        name, name);
  return store.remove(name);
}

Result<> keep_snapshot(const TraceStore& store, const std::string& name, bool kept) {
  if (auto found = store.check_exists(name); !found) return found;
  const std::filesystem::path path = store.path_of(name);
  if (is_recording(path))
    return fail(ExitCode::usage, "'{}' is a recording, not a snapshot: nothing removes it", name);
  return set_keep_mark(path, kept);
}

}  // namespace ktraced
