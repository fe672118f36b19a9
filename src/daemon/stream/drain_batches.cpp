// SPDX-License-Identifier: BSD-2-Clause
// What the drain thread does with the rings: one batch of packets after the other.
#include <algorithm>
#include <utility>

#include "daemon/stream/drain.h"

namespace ktraced {
namespace {

// Space is released in steps of this many bytes, so that a full ring accepts new records before all
// of it has been read.
constexpr uint64_t kStepBytes = 64U << 10;

}  // namespace

void Drain::release(RingReader& ring, uint32_t cpu, uint64_t to) {
  account_.commit(cpu, to);
  ring.release(to);
}

// Discards what was recorded before the first reader came.
void Drain::empty_rings() {
  for (auto& [cpu, ring] : rings_.rings()) release(ring, cpu, ring.produced());
  names_->release(names_->produced());
  for (Cpu& cpu : cpus_) static_cast<void>(cpu.losses.unreported());
}

void Drain::run_batch(uint64_t until, uint64_t watermark) {
  std::vector<PacketBytes> packets;
  for (auto& [number, ring] : rings_.rings()) drain_cpu(ring, cpus_[number]);
  for (uint32_t number = 0; number < cpus_.size(); ++number) {
    Cpu& cpu = cpus_[number];
    if (!rings_.rings().contains(number)) cpu.builder.lose(cpu.losses.unreported());
    cpu.builder.take(until, packets);
  }
  watermark_ = watermark;
  // The metadata packet comes last, so that it names everything that the events refer to.
  packets.push_back(build_metadata_packet(uuid_, metadata_sequence_++, watermark_, drain_names()));
  publish_(packets);
}

void Drain::drain_cpu(RingReader& ring, Cpu& cpu) {
  const uint64_t until = ring.produced();
  uint64_t at = ring.consumed();
  while (at < until) {
    const uint64_t step = std::min(until, at + kStepBytes);
    const uint64_t next = take_step(ring, cpu, at, step);
    note_losses(ring, cpu);
    release(ring, cpu.number, next);
    const bool busy = next < step;
    at = next;
    if (busy) break;
  }
  note_losses(ring, cpu);
  report_losses(cpu, at);
}

// If this fails halfway, the records read so far are released: they are in the builder.
uint64_t Drain::take_step(RingReader& ring, Cpu& cpu, uint64_t from, uint64_t until) {
  uint64_t at = from;
  try {
    return ring.read(from, until, [&](uint64_t position, auto bytes) {
      at = position;
      report_losses(cpu, position);
      cpu.builder.add(bytes);
      account_.take(cpu.number, RecordView(bytes.data()).id());
    });
  } catch (...) {
    release(ring, cpu.number, at);
    throw;
  }
}

// While the ring is full every new record is dropped. So everything dropped since the last release
// belongs right after what is now the last record.
void Drain::note_losses(const RingReader& ring, Cpu& cpu) {
  if (auto unreported = cpu.losses.unreported(); !unreported.empty())
    cpu.pending.emplace_back(ring.produced(), std::move(unreported));
}

void Drain::report_losses(Cpu& cpu, uint64_t position) {
  for (; !cpu.pending.empty() && cpu.pending.front().first <= position; cpu.pending.pop_front())
    cpu.builder.lose(cpu.pending.front().second);
}

std::vector<std::byte> Drain::drain_names() {
  std::vector<std::byte> records;
  if (const uint64_t dropped = counters_.names_dropped(); dropped != names_dropped_) {
    names_dropped_ = dropped;
    records = all_names_();
  }
  const uint64_t end = names_->read(
      names_->consumed(), names_->produced(),
      [&](uint64_t, auto bytes) { records.insert(records.end(), bytes.begin(), bytes.end()); });
  names_->release(end);
  return records;
}

}  // namespace ktraced
