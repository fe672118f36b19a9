// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/rings/stream_rings.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <utility>

#include "base/files/read_file.h"

namespace ktraced {
namespace {

// Wakeup threshold: the reader is woken each time this part of a ring has been filled.
constexpr size_t kWakeupsPerRing = 4;

Result<RingReader> make_ring(uint32_t cpu, size_t bytes) {
  LIBBPF_OPTS(bpf_map_create_opts, options);
  Fd map(bpf_map_create(BPF_MAP_TYPE_RINGBUF, fmt::format("ktraced_cpu{}", cpu).c_str(), 0, 0,
                        static_cast<uint32_t>(bytes), &options));
  if (!map)
    return fail(ExitCode::os,
                "cannot make a stream ring of {} KiB for CPU {}: {}; choose a smaller "
                "stream.buffer_kb",
                bytes / 1024, cpu, errno_text(errno));
  return RingReader::open(std::move(map), bytes);
}

std::string pin_name(uint32_t cpu) { return fmt::format("stream_{}", cpu); }

}  // namespace

StreamRings::StreamRings(const BpfObject& object, uint32_t session, size_t ring_bytes, bool pinned)
    : object_(object),
      session_(session),
      cpus_(possible_cpus()),
      ring_bytes_(ring_bytes),
      pinned_(pinned && object.pins() != nullptr) {
  note_ring_bytes(ring_bytes);
}

StreamRings::~StreamRings() {
  if (!pinned_) retire();
}

void StreamRings::note_ring_bytes(size_t ring_bytes) {
  ring_bytes_ = ring_bytes;
  std::atomic_ref(object_.control().wakeup_bytes[session_]).store(ring_bytes / kWakeupsPerRing);
}

Result<> StreamRings::adopt() {
  for (uint32_t cpu = 0; pinned_ && cpu < cpus_; ++cpu) {
    Fd map = object_.pins()->get(Pins::Kind::ring, pin_name(cpu));
    bpf_map_info info{};
    uint32_t length = sizeof(info);
    if (!map || bpf_obj_get_info_by_fd(map.get(), &info, &length) != 0) continue;
    auto ring = RingReader::open(std::move(map), info.max_entries);
    if (!ring) return propagate(ring);
    ring_bytes_ = ring->size();
    rings_.emplace(cpu, std::move(*ring));
  }
  note_ring_bytes(ring_bytes_);
  return {};
}

void StreamRings::retire() {
  if (std::exchange(retired_, true)) return;
  for (const auto& [cpu, ring] : rings_) {
    if (pinned_) object_.pins()->unpin(Pins::Kind::ring, pin_name(cpu));
    const uint32_t slot = index(cpu);
    bpf_map_delete_elem(object_.map_fd("stream_rings"), &slot);
  }
  pinned_ = false;
}

// Updating a slot of a map of maps waits until no program uses the old map.
Result<> StreamRings::install(uint32_t cpu, const RingReader& ring) {
  const int fd = ring.map_fd();
  const uint32_t slot = index(cpu);
  if (bpf_map_update_elem(object_.map_fd("stream_rings"), &slot, &fd, BPF_ANY) != 0)
    return fail(ExitCode::os, "cannot give CPU {} its stream ring: {}", cpu, errno_text(errno));
  return pinned_ ? object_.pins()->pin(Pins::Kind::ring, pin_name(cpu), fd) : Result<>();
}

Result<> StreamRings::add_cpu(uint32_t cpu) {
  if (rings_.contains(cpu)) return {};
  auto ring = make_ring(cpu, ring_bytes_);
  if (!ring) return propagate(ring);
  if (auto used = install(cpu, *ring); !used) return used;
  rings_.emplace(cpu, std::move(*ring));
  return {};
}

Result<std::map<uint32_t, RingReader>> StreamRings::resize(size_t ring_bytes) {
  std::map<uint32_t, RingReader> rings;
  for (const auto& [cpu, ring] : rings_) {
    auto replacement = make_ring(cpu, ring_bytes);
    if (!replacement) return propagate(replacement);
    rings.emplace(cpu, std::move(*replacement));
  }
  for (const auto& [cpu, ring] : rings) {
    auto used = install(cpu, ring);
    if (used) continue;
    for (const auto& [old_cpu, old_ring] : rings_) static_cast<void>(install(old_cpu, old_ring));
    return propagate(used);
  }
  note_ring_bytes(ring_bytes);
  return std::exchange(rings_, std::move(rings));
}

void remove_left_rings(const BpfObject& object, uint32_t session) {
  const int map = object.map_fd("stream_rings");
  const uint32_t first = session * possible_cpus();
  for (uint32_t slot = first; slot < first + possible_cpus(); ++slot) {
    uint32_t ring = 0;
    if (bpf_map_lookup_elem(map, &slot, &ring) == 0) bpf_map_delete_elem(map, &slot);
  }
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
