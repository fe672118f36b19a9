// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/rings/stream_rings.h"

#include <bpf/libbpf.h>

#include <atomic>
#include <charconv>
#include <utility>

#include "base/files/read_file.h"

namespace ktraced {

StreamRings::StreamRings(const BpfObject& object, uint32_t session, size_t ring_bytes, bool pinned)
    : object_(object),
      session_(session),
      cpus_(possible_cpus()),
      ring_bytes_(ring_bytes),
      pinned_(pinned && object.pins() != nullptr),
      places_(stream_places(object, session, pinned_)) {
  note_ring_bytes(ring_bytes);
}

StreamRings::~StreamRings() {
  if (!pinned_) retire();
  for (auto& [cpu, ring] : rings_)
    if (!retired_) ring.leave();
}

void StreamRings::note_ring_bytes(size_t ring_bytes) {
  ring_bytes_ = ring_bytes;
  std::atomic_ref(object_.control().wakeup_bytes[session_]).store(ring_bytes / kWakeupsPerRing);
}

Result<> StreamRings::adopt() {
  for (uint32_t cpu = 0; pinned_ && cpu < cpus_; ++cpu) {
    auto ring = places_->adopt(cpu);
    if (!ring) return propagate(ring);
    if (!*ring) continue;
    ring_bytes_ = (*ring)->size();
    rings_.emplace(cpu, std::move(**ring));
  }
  note_ring_bytes(ring_bytes_);
  return {};
}

void StreamRings::retire() {
  if (std::exchange(retired_, true)) return;
  for (const auto& [cpu, ring] : rings_) places_->remove(cpu);
  if (!rings_.empty()) places_->wait();
  pinned_ = false;
}

Result<> StreamRings::add_cpu(uint32_t cpu) {
  if (rings_.contains(cpu)) return {};
  auto ring = places_->make(cpu, ring_bytes_);
  if (!ring) return propagate(ring);
  if (auto used = places_->install(cpu, *ring); !used) return used;
  rings_.emplace(cpu, std::move(*ring));
  return {};
}

Result<std::map<uint32_t, StreamRing>> StreamRings::resize(size_t ring_bytes) {
  std::map<uint32_t, StreamRing> rings;
  for (const auto& [cpu, ring] : rings_) {
    auto replacement = places_->make(cpu, ring_bytes);
    if (!replacement) return propagate(replacement);
    rings.emplace(cpu, std::move(*replacement));
  }
  for (const auto& [cpu, ring] : rings) {
    auto used = places_->install(cpu, ring);
    if (used) continue;
    for (const auto& [old_cpu, old_ring] : rings_)
      static_cast<void>(places_->install(old_cpu, old_ring));
    return propagate(used);
  }
  places_->wait();
  note_ring_bytes(ring_bytes);
  return std::exchange(rings_, std::move(rings));
}

std::vector<uint32_t> online_cpus() {
  // "0-3,5" (Documentation/admin-guide/cputopology.rst)
  const std::string list = read_file("/sys/devices/system/cpu/online", 65536).value_or("");
  std::vector<uint32_t> cpus;
  const char* at = list.data();
  const char* end = at + list.size();
  while (at < end) {
    uint32_t first = 0;
    at = std::from_chars(at, end, first).ptr;
    uint32_t last = first;
    if (at < end && *at == '-') at = std::from_chars(at + 1, end, last).ptr;
    for (uint32_t cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    ++at;
  }
  return cpus;
}

uint32_t possible_cpus() { return static_cast<uint32_t>(libbpf_num_possible_cpus()); }

}  // namespace ktraced
