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
  for (const char* key :
       {"kind", "complete", "incomplete_because", "reason", "requested_by", "taken_realtime_ns",
        "begin_ns", "end_ns", "records", "overwritten", "lost"})
    entry[key] = manifest->at(key);
  entry["missed"] = sum_of(manifest->at("missed"));
  entry["cpus"] = cpu_accounts(*manifest);
  return entry;
}

}  // namespace

json SnapshotList::entries(const TraceStore& store) {
  json entries = json::array();
  std::map<std::string, Known> known;
  for (const StoredTrace& trace : store.list()) {
    const std::filesystem::path path = store.path_of(trace.name);
    auto before = known_.find(path);
    Known entry = before != known_.end() && before->second.written_ns == trace.written_ns
                      ? std::move(before->second)
                      : Known{trace.written_ns, entry_of(trace, path)};
    entries.push_back(entry.entry);
    known.emplace(path, std::move(entry));
  }
  known_ = std::move(known);
  return entries;
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

}  // namespace ktraced
