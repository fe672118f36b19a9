// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshots/snapshot_writer.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/files/own_directory.h"
#include "daemon/snapshots/ring_account.h"
#include "trace/directory/trace_writer.h"
#include "trace/metadata/kernel_text.h"
#include "trace/packet/packet_builder.h"

namespace ktraced {
namespace {

// Packets are written after this many bytes of records, so that memory use does not grow with the
// ring.
constexpr size_t kChunkBytes = 1U << 20;

// The time of the first record of all CPUs; 0 if there are none.
uint64_t earliest(const std::vector<CpuAccount>& cpus) {
  uint64_t first = 0;
  for (const CpuAccount& cpu : cpus)
    if (cpu.first_ns != 0 && (first == 0 || cpu.first_ns < first)) first = cpu.first_ns;
  return first;
}

class SnapshotWriter {
 public:
  SnapshotWriter(const SnapshotJob& job, TraceWriter& writer) : job_(job), writer_(writer) {}

  // Writes the records of all CPUs.
  Result<> write_rings();
  // Completes the manifest with what the records contain.
  Manifest manifest() const;

 private:
  struct Cpu {
    RingContent content;
    uint64_t late_records = 0;
  };

  Result<> write_ring(uint32_t cpu, const FlightRing& ring);
  Result<> write_losses(uint32_t cpu, std::span<const Lost> lost);
  Result<> write_packets(PacketBuilder& builder, uint64_t up_to);
  // Does every CPU lack what came first? `manifest` has the accounts of the CPUs.
  [[nodiscard]] bool all_lack_the_begin(const Manifest& manifest) const;
  void balance_cpu(uint32_t number, const Cpu& cpu, Manifest& manifest) const;
  void note_lost_names(Manifest& manifest) const;
  static void explain_unrecorded(uint32_t number, std::span<const Lost> events, Manifest& manifest);

  const SnapshotJob& job_;
  TraceWriter& writer_;
  std::map<uint32_t, Cpu> cpus_;
};

Result<> SnapshotWriter::write_rings() {
  for (const auto& [cpu, lost] : job_.unrecorded)
    if (auto done = write_losses(cpu, lost); !done) return done;
  for (const auto& [cpu, ring] : job_.frozen.rings)
    if (auto done = write_ring(cpu, *ring); !done) return done;
  return {};
}

// The losses happened before the first record of their CPU, after the bank had become active.
Result<> SnapshotWriter::write_losses(uint32_t cpu, std::span<const Lost> lost) {
  PacketBuilder builder(job_.manifest.origin.uuid, cpu, job_.frozen.begin_ts);
  builder.lose(lost);
  return write_packets(builder, UINT64_MAX);
}

Result<> SnapshotWriter::write_ring(uint32_t cpu, const FlightRing& ring) {
  const FlightRing::Walk walk = ring.walk();
  PacketBuilder builder(job_.manifest.origin.uuid, cpu, 0);
  size_t collected = 0;
  Result<> done;
  ring.for_each_oldest_first(walk, [&](std::span<const std::byte> bytes) {
    if (!done) return;
    builder.add(bytes);
    collected += bytes.size();
    if (collected < kChunkBytes) return;
    collected = 0;
    // The next chunk may have late records whose time is within this chunk.
    const uint64_t ts = RecordView(bytes.data()).ts();
    done = write_packets(builder, ts - std::min(ts, kReorderWindowNs));
  });
  if (done) done = write_packets(builder, UINT64_MAX);
  cpus_[cpu] = {.content = {.capacity = ring.capacity(),
                            .written = ring.written(),
                            .written_bytes = ring.written_bytes(),
                            .found_bytes = walk.bytes,
                            .intact = walk.intact},
                .late_records = builder.late_records()};
  return done;
}

Result<> SnapshotWriter::write_packets(PacketBuilder& builder, uint64_t up_to) {
  std::vector<PacketBytes> packets;
  builder.take(up_to, packets);
  for (PacketBytes& bytes : packets) {
    if (job_.mask) bytes = job_.mask->masked(bytes);
    if (auto done = writer_.write(PacketView::of_built(bytes)); !done) return done;
  }
  return {};
}

Manifest SnapshotWriter::manifest() const {
  Manifest manifest = job_.manifest;
  manifest.kind = TraceKind::snapshot;
  manifest.begin_ns = job_.frozen.begin_ts;
  manifest.end_ns = job_.frozen.swap_ts;
  manifest.missed = job_.frozen.missed;
  manifest.cpus = writer_.accounts();
  for (const auto& [number, cpu] : cpus_) balance_cpu(number, cpu, manifest);
  for (const auto& [number, events] : job_.unrecorded) explain_unrecorded(number, events, manifest);
  if (all_lack_the_begin(manifest))
    manifest.previous.clear();  // there is a hole behind it
  else
    manifest.since_ns = job_.frozen.begin_ts;
  manifest.begin_ns = std::max(manifest.begin_ns, window_of(manifest).begin_ns);
  if (manifest.begin_ns == 0) manifest.begin_ns = earliest(manifest.cpus);
  if (const auto& known = job_.known_since; manifest.begin_ns < known.ns)
    manifest.incomplete_because.push_back(
        fmt::format("what was traced before {:.3f} s is not known: {}",
                    static_cast<double>(known.ns) / 1e9, known.reason));
  std::ranges::sort(manifest.cpus, {}, &CpuAccount::cpu);
  restrict_to_window(manifest);
  for (const auto& [event, count] : manifest.missed)
    if (count != 0)
      manifest.incomplete_because.push_back(
          fmt::format("the kernel skipped {} hits of {}{}", count, event,
                      job_.frozen.counted_late ? ", counted until the next daemon began" : ""));
  note_lost_names(manifest);
  std::ranges::move(writer_.name_problems(), std::back_inserter(manifest.incomplete_because));
  return manifest;
}

// Records of CPUs that reach further back than the common window have names too.
void SnapshotWriter::note_lost_names(Manifest& manifest) const {
  const uint64_t begin_ns = std::min(manifest.start_ns(), window_of(manifest).furthest_ns);
  auto span = [&](uint64_t end_ns) {
    return fmt::format("from {:.3f} to {:.3f} s after boot", static_cast<double>(begin_ns) / 1e9,
                       static_cast<double>(end_ns) / 1e9);
  };
  if (begin_ns < job_.names.complete_since) {
    manifest.names_since_ns = job_.names.complete_since;
    manifest.incomplete_because.push_back(
        fmt::format("threads may carry wrong names {}: more names have changed than are kept",
                    span(job_.names.complete_since)));
  }
  if (begin_ns < job_.names.cgroups_since)
    manifest.incomplete_because.push_back(
        fmt::format("paths of control groups that were removed {} may be missing: more were "
                    "removed than are kept",
                    span(job_.names.cgroups_since)));
  if (job_.names.unkept_cgroups != 0)
    manifest.incomplete_because.push_back(
        fmt::format("paths of {} control groups are missing: more exist than are kept",
                    job_.names.unkept_cgroups));
}

bool SnapshotWriter::all_lack_the_begin(const Manifest& manifest) const {
  return !cpus_.empty() && std::ranges::all_of(manifest.cpus, [&](const CpuAccount& cpu) {
    return !cpus_.contains(cpu.cpu) || job_.unrecorded.contains(cpu.cpu) ||
           cpu.total().overwritten != 0;
  });
}

// The account of a CPU; created if missing.
CpuAccount& account_of(uint32_t number, Manifest& manifest) {
  auto account = std::ranges::find(manifest.cpus, number, &CpuAccount::cpu);
  if (account == manifest.cpus.end())
    account = manifest.cpus.insert(account, {.cpu = number, .events = {}});
  return *account;
}

void SnapshotWriter::explain_unrecorded(uint32_t number, std::span<const Lost> events,
                                        Manifest& manifest) {
  for (const Lost& lost : events) {
    const Event* event = manifest.schema.find(lost.event_id);
    if (event == nullptr) continue;
    manifest.incomplete_because.push_back(
        fmt::format("CPU {}: {} {} events are lost: they happened before it had its flight ring",
                    number, lost.count, event->name));
  }
}

void SnapshotWriter::balance_cpu(uint32_t number, const Cpu& cpu, Manifest& manifest) const {
  CpuAccount& account = account_of(number, manifest);
  for (std::string& problem : balance(manifest.schema, cpu.content, account))
    manifest.incomplete_because.push_back(std::move(problem));
  if (cpu.late_records != 0)
    manifest.incomplete_because.push_back(
        fmt::format("CPU {}: {} records came too late to be sorted, their times are not exact",
                    number, cpu.late_records));
}

std::map<uint64_t, std::string> resolve(const std::set<uint64_t>& addresses,
                                        const AddressMask* mask, KernelSymbols& symbols) {
  std::map<uint64_t, std::string> names;
  for (uint64_t shown : addresses) {
    const uint64_t address = mask ? mask->kernel_address(shown) : shown;
    add_symbols(shown, address, [&symbols](uint64_t at) { return symbols.resolve(at); }, names);
  }
  return names;
}

}  // namespace

Result<SnapshotSummary> write_snapshot(const SnapshotJob& job, KernelSymbols& symbols) {
  auto store = open_shared_directory(job.path.parent_path());
  if (!store) return propagate(store);
  auto writer = TraceWriter::create(job.path, job.manifest.schema, job.manifest.origin,
                                    is_kernel_text, job.written_time, std::move(*store));
  if (!writer) return propagate(writer);
  SnapshotWriter snapshot(job, **writer);
  if (auto done = snapshot.write_rings(); !done) return propagate(done);
  (*writer)->add_names(job.names.records);
  if (job.commands) (*writer)->add_names(job.commands());
  if (job.user_code) job.user_code(**writer, real_start(job.mask));
  const Manifest manifest = snapshot.manifest();
  if (auto done = (*writer)->finish(manifest,
                                    resolve((*writer)->code_addresses(), job.mask.get(), symbols));
      !done)
    return propagate(done);
  return SnapshotSummary{.records = manifest.total().records,
                         .bytes = (*writer)->bytes(),
                         .previous = manifest.previous,
                         .window = window_of(manifest),
                         .incomplete_because = manifest.incomplete_because};
}

}  // namespace ktraced
