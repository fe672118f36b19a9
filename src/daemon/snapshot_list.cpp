// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot_list.h"

#include <algorithm>

#include "trace/manifest_file.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr size_t kReasonsListed = 32;
constexpr size_t kTextMax = 1024;  // bytes

Result<ManifestSummary> summary_of(const std::filesystem::path& trace) {
  auto directory = TraceDirectory::open(trace);
  if (!directory) return pass_on(directory);
  return read_manifest_summary(*directory);
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

// The accounts of the CPUs without those of their events.
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

// Null: of a recording.
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

std::vector<const json*> SnapshotList::read(const TraceStore& store) {
  std::vector<const json*> entries;
  std::map<std::string, Known> known;
  for (const StoredTrace& trace : store.list()) {
    const std::filesystem::path path = store.path_of(trace.name);
    auto before = known_.find(path);
    Known now;
    if (before != known_.end() && before->second.written_ns == trace.written_ns) {
      now = std::move(before->second);
    } else {
      const auto summary = summary_of(path);
      // What has failed for want of descriptors or memory may be read the next time.
      const bool lasting = summary || summary.error().code == ExitCode::data;
      now = {lasting ? trace.written_ns : 0, entry_of(trace, path, summary)};
    }
    const auto [entry, added] = known.emplace(path, std::move(now));
    if (!entry->second.entry.is_null()) entries.push_back(&entry->second.entry);
  }
  known_ = std::move(known);
  return entries;
}

json SnapshotList::entries(const TraceStore& store) {
  json entries = json::array();
  for (const json* entry : read(store)) entries.push_back(*entry);
  return entries;
}

SnapshotList::Sum SnapshotList::sum(const TraceStore& store) {
  Sum sum;
  for (const json* entry : read(store)) {
    ++sum.count;
    sum.bytes += entry->at("bytes").get<uint64_t>();
  }
  return sum;
}

std::optional<std::string> find_snapshot(const TraceStore& store, const std::string& boot_id,
                                         uint64_t end_ns) {
  for (const StoredTrace& trace : store.list()) {
    const auto summary = summary_of(store.path_of(trace.name));
    if (!summary) continue;
    const Manifest& manifest = summary->manifest;
    if (manifest.kind == TraceKind::snapshot && manifest.origin.boot_id == boot_id &&
        manifest.end_ns == end_ns)
      return trace.name;
  }
  return std::nullopt;
}

Result<> remove_snapshot(const TraceStore& store, const std::string& name) {
  if (auto checked = check_trace_name(name); !checked) return checked;
  const auto directory = TraceDirectory::open(store.path_of(name));
  if (directory && read_kind(*directory) == TraceKind::recording)
    return fail(ExitCode::usage, "'{}' is a recording, not a snapshot: remove {} yourself", name,
                store.path_of(name).string());
  return store.remove(name);
}

}  // namespace ktraced
