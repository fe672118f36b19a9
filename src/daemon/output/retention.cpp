// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/output/retention.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <tuple>

#include "trace/directory/manifest_file.h"

namespace ktraced {
namespace {

struct Total {
  uint64_t count = 0;
  uint64_t bytes = 0;

  [[nodiscard]] bool exceeds(const Retention& limits) const {
    return count > limits.max_count || bytes > limits.max_bytes;
  }
};

Total total_of(const std::vector<StoredTrace>& traces) {
  Total total{.count = traces.size()};
  for (const StoredTrace& trace : traces) total.bytes += trace.bytes;
  return total;
}

// What must be removed of `traces`, oldest first, without those that `is_protected`.
std::vector<Eviction> evictions(std::vector<StoredTrace> traces, const Retention& limits,
                                auto&& is_protected) {
  std::ranges::sort(traces, {}, [](const StoredTrace& trace) {
    return std::tuple(trace.written_ns, trace.name);
  });
  Total total = total_of(traces);
  std::vector<Eviction> evicted;
  for (const StoredTrace& trace : traces) {
    if (!total.exceeds(limits)) break;
    if (trace.has_other_files || is_protected(trace)) continue;
    evicted.push_back(
        {.name = trace.name, .bytes = trace.bytes, .over_count = total.count > limits.max_count});
    total.bytes -= trace.bytes;
    --total.count;
  }
  return evicted;
}

// A trace whose manifest says that it is a snapshot. Unreadable traces must not be deleted as
// snapshots.
bool is_snapshot(const std::filesystem::path& trace) {
  auto directory = TraceDirectory::open(trace);
  return directory && read_kind(*directory) == TraceKind::snapshot;
}

std::optional<Excess> excess_of(const std::vector<StoredTrace>& traces, const Retention& limits) {
  const Total total = total_of(traces);
  const auto kept = std::ranges::count_if(traces, &StoredTrace::kept);
  if (kept == 0 || !total.exceeds(limits)) return std::nullopt;
  return Excess{.count = total.count, .bytes = total.bytes, .kept = static_cast<uint64_t>(kept)};
}

}  // namespace

std::vector<std::string> superfluous(std::vector<StoredTrace> traces, const Retention& retention,
                                     std::string_view keep) {
  std::vector<std::string> names;
  for (Eviction& eviction :
       evictions(std::move(traces), retention,
                 [keep](const StoredTrace& trace) { return trace.name == keep; }))
    names.push_back(std::move(eviction.name));
  return names;
}

Enforced enforce(const TraceStore& store, const Retention& limits, std::string_view newest) {
  Enforced done{.limits = limits, .evicted = {}, .excess = {}};
  auto listed = store.list();
  if (!listed) {
    spdlog::error("snapshots are not removed: {}", listed.error().message);
    return done;
  }
  std::vector<StoredTrace> traces = std::move(*listed);
  // Reads manifests only if a limit is exceeded.
  if (!total_of(traces).exceeds(limits)) return done;
  std::erase_if(traces, [&](const StoredTrace& t) { return !is_snapshot(store.path_of(t.name)); });
  const auto is_protected = [newest](const StoredTrace& trace) {
    return trace.kept || trace.name == newest;
  };
  for (Eviction& eviction : evictions(traces, limits, is_protected)) {
    if (auto removed = store.remove_listed(eviction.name); !removed) {
      spdlog::error("{}", removed.error().message);
      continue;
    }
    std::erase_if(traces, [&](const StoredTrace& trace) { return trace.name == eviction.name; });
    done.evicted.push_back(std::move(eviction));
  }
  done.excess = excess_of(traces, limits);
  return done;
}

}  // namespace ktraced
