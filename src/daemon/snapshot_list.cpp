#include "daemon/snapshot_list.h"

#include <fstream>

#include "trace/manifest.h"

namespace ktraced {
namespace {

using nlohmann::json;

Result<json> read_manifest(const std::filesystem::path& file) {
  std::ifstream in(file);
  json manifest = json::parse(in, nullptr, /*allow_exceptions=*/false);
  auto checked = manifest_from_json(manifest);
  if (!checked) return pass_on(checked);
  return manifest;
}

// The accounts of the CPUs without those of their events.
json cpu_accounts(const json& manifest) {
  json cpus = manifest.at("cpus");
  for (json& cpu : cpus) cpu.erase("events");
  return cpus;
}

uint64_t sum_of(const json& counts) {
  uint64_t sum = 0;
  for (const json& count : counts) sum += count.get<uint64_t>();
  return sum;
}

json entry_of(const StoredTrace& trace, const std::filesystem::path& path) {
  json entry = {{"name", trace.name}, {"path", path.string()}, {"bytes", trace.bytes}};
  auto manifest = read_manifest(path / "manifest.json");
  if (!manifest) {
    entry["complete"] = false;
    entry["incomplete_because"] = {manifest.error().message};
    return entry;
  }
  if (manifest->at("kind") == "recording") return nullptr;
  for (const char* key :
       {"kind", "complete", "incomplete_because", "reason", "requested_by", "taken_realtime_ns",
        "begin_ns", "end_ns", "records", "overwritten", "lost"})
    entry[key] = manifest->at(key);
  entry["missed"] = sum_of(manifest->at("missed"));
  entry["cpus"] = cpu_accounts(*manifest);
  return entry;
}

}  // namespace

std::vector<const json*> SnapshotList::read(const TraceStore& store) {
  std::vector<const json*> entries;
  std::map<std::string, Known> known;
  for (const StoredTrace& trace : store.list()) {
    const std::filesystem::path path = store.path_of(trace.name);
    auto before = known_.find(path);
    Known now = before != known_.end() && before->second.written_ns == trace.written_ns
                    ? std::move(before->second)
                    : Known{trace.written_ns, entry_of(trace, path)};
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
    const auto manifest = read_manifest(store.path_of(trace.name) / "manifest.json");
    if (manifest && manifest->at("kind") == "snapshot" && manifest->at("boot_id") == boot_id &&
        manifest->at("end_ns") == end_ns)
      return trace.name;
  }
  return std::nullopt;
}

Result<> remove_snapshot(const TraceStore& store, const std::string& name) {
  if (auto checked = check_trace_name(name); !checked) return checked;
  const auto manifest = read_manifest(store.path_of(name) / "manifest.json");
  if (manifest && manifest->at("kind") == "recording")
    return fail(ExitCode::usage, "'{}' is a recording, not a snapshot: remove {} yourself", name,
                store.path_of(name).string());
  return store.remove(name);
}

}  // namespace ktraced
