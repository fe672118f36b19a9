// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshots/snapshot_list.h"

#include <algorithm>
#include <map>
#include <ranges>

#include "daemon/output/keep_mark.h"
#include "trace/directory/manifest_file.h"
#include "trace/packet/word_text.h"

namespace ktraced {
namespace {

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

std::vector<std::string> reasons_of(const Manifest& manifest) {
  const std::vector<std::string>& reasons = manifest.incomplete_because;
  std::vector<std::string> out;
  for (size_t i = 0; i < std::min(reasons.size(), kReasonsListed); ++i)
    out.push_back(bounded(reasons[i]));
  if (reasons.size() > kReasonsListed)
    out.push_back(fmt::format("and {} more reasons", reasons.size() - kReasonsListed));
  return out;
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

SnapshotEntry::Content content_of(const ManifestSummary& summary) {
  const Manifest& manifest = summary.manifest;
  uint64_t missed = 0;
  for (const auto& [event, count] : manifest.missed) missed += count;
  return {.reason = bounded(manifest.reason),
          .requested_by = bounded(manifest.requested_by),
          .boot_id = bounded(manifest.origin.boot_id),
          .previous = bounded(manifest.previous),
          .taken_realtime_ns = manifest.taken_realtime_ns,
          .start_ns = manifest.start_ns(),
          .begin_ns = manifest.begin_ns,
          .end_ns = manifest.end_ns,
          .window = window_of(summary),
          .total = sum_of(summary.cpus),
          .missed = missed,
          .cpus = summary.cpus};
}

void note_last(SnapshotList::Sum& sum, const SnapshotEntry& snapshot) {
  const auto& content = snapshot.content;
  if (content)
    sum.last = {
        .name = snapshot.name, .begin_ns = content->window.begin_ns, .end_ns = content->end_ns};
}

// Nothing for a recording.
std::optional<SnapshotEntry> entry_of(const StoredTrace& trace, const std::filesystem::path& path,
                                      const Result<ManifestSummary>& summary) {
  if (summary && summary->manifest.kind == TraceKind::recording) return std::nullopt;
  SnapshotEntry entry{.name = trace.name,
                      .path = path,
                      .bytes = trace.bytes,
                      .kept = trace.kept,
                      .incomplete_because = {},
                      .content = {}};
  if (summary) entry.content = content_of(*summary);
  entry.incomplete_because =
      summary ? reasons_of(summary->manifest) : std::vector{bounded(summary.error().message)};
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
    if (entry != nullptr && !entry->entry) continue;
    ++sum.count;
    sum.bytes += trace.bytes;
    sum.kept += trace.kept ? 1 : 0;
    if (entry != nullptr) note_last(sum, *entry->entry);
  }
  if (!all_known) before_reading(sum);
}

Result<std::vector<const SnapshotEntry*>> SnapshotList::read(const TraceStore& store,
                                                             const BeforeReading& before_reading) {
  std::vector<const SnapshotEntry*> entries;
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
    if (now.entry) now.entry->kept = trace.kept;
    const auto [entry, added] = now_known.emplace(path, std::move(now));
    if (entry->second.entry) entries.push_back(&*entry->second.entry);
  }
  known_ = std::move(now_known);
  return entries;
}

Result<std::vector<SnapshotEntry>> SnapshotList::entries(const TraceStore& store) {
  auto found = read(store, {});
  if (!found) return propagate(found);
  std::vector<SnapshotEntry> entries;
  std::map<std::string, const SnapshotEntry::Content*> by_name;
  for (const SnapshotEntry* entry : *found)
    if (entry->content) by_name.emplace(entry->name, &*entry->content);
  for (const SnapshotEntry* entry : *found) {
    SnapshotEntry& listed = entries.emplace_back(*entry);
    if (!listed.content) continue;
    const auto previous = by_name.find(listed.content->previous);
    if (previous == by_name.end() || previous->second->end_ns != listed.content->start_ns ||
        previous->second->boot_id != listed.content->boot_id)
      listed.content->previous.clear();
  }
  return entries;
}

Result<SnapshotList::Sum> SnapshotList::sum(const TraceStore& store,
                                            const BeforeReading& before_reading) {
  auto found = read(store, before_reading);
  if (!found) return propagate(found);
  Sum sum;
  for (const SnapshotEntry* entry : *found) {
    ++sum.count;
    sum.bytes += entry->bytes;
    sum.kept += entry->kept ? 1 : 0;
    note_last(sum, *entry);
  }
  return sum;
}

Result<std::optional<StoredSnapshot>> find_snapshot(const TraceStore& store,
                                                    const std::string& boot_id, uint64_t end_ns) {
  auto traces = store.list();
  if (!traces) return propagate(traces);
  for (const StoredTrace& trace : *traces | std::views::reverse) {  // mostly the newest one
    auto summary = summary_of(store.path_of(trace.name));
    if (!summary && summary.error().code != ExitCode::data) return propagate(summary);
    if (!summary) continue;
    const Manifest& manifest = summary->manifest;
    if (manifest.kind == TraceKind::snapshot && manifest.origin.boot_id == boot_id &&
        manifest.end_ns == end_ns)
      return StoredSnapshot{.name = trace.name, .summary = std::move(*summary)};
  }
  return std::optional<StoredSnapshot>();
}

std::optional<SnapshotPair> with_previous(const TraceStore& store, const std::string& name,
                                          const SnapshotSummary& summary,
                                          const std::optional<StoredSnapshot>& previous) {
  if (!previous || summary.previous.empty() || !store.check_exists(previous->name))
    return std::nullopt;
  const ManifestSummary& before = previous->summary;
  const std::filesystem::path path = store.path_of(previous->name);
  SnapshotPair pair{.previous = path,
                    .show = show_command({path.string(), store.path_of(name).string()}),
                    .records = sum_of(before.cpus).records + summary.records,
                    .begin_ns = window_of(before).begin_ns,
                    .end_ns = summary.window.end_ns,
                    .incomplete_because = {}};
  for (const std::string& reason : reasons_of(before.manifest))
    pair.incomplete_because.push_back(fmt::format("{}: {}", previous->name, reason));
  const uint64_t end_ns = before.manifest.end_ns;
  if (end_ns < summary.window.begin_ns)
    pair.incomplete_because.push_back(fmt::format(
        "some CPUs have overwritten what came between them, from {:.6f} to {:.6f} s",
        static_cast<double>(end_ns) / 1e9, static_cast<double>(summary.window.begin_ns) / 1e9));
  for (const std::string& reason : summary.incomplete_because)
    pair.incomplete_because.push_back(fmt::format("{}: {}", name, reason));
  return pair;
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
