// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/rings/stream_places.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "kernel/pins/map_layout.h"
#include "kernel/programs/program_barrier.h"
#include "kernel/rings/stream_rings.h"

namespace ktraced {
namespace {

uint32_t slot_of(uint32_t session, uint32_t cpu) { return session * possible_cpus() + cpu; }

std::unexpected<Error> no_ring(uint32_t cpu, size_t bytes, const Error& why) {
  return fail(why.code,
              "cannot make a stream ring of {} KiB for CPU {}: {}; choose a smaller "
              "stream.buffer_kb",
              bytes / 1024, cpu, why.message);
}

// BPF ring buffers in a map of maps. Changing an element of it waits until no program uses the old
// one.
class PlacesInMap : public StreamPlaces {
 public:
  PlacesInMap(const BpfObject& object, uint32_t session, bool pinned)
      : map_(object.map_fd("stream_rings")),
        session_(session),
        pins_(pinned ? object.pins() : nullptr) {}

  Result<StreamRing> make(uint32_t cpu, size_t bytes) override {
    LIBBPF_OPTS(bpf_map_create_opts, options);
    Fd map(bpf_map_create(BPF_MAP_TYPE_RINGBUF, fmt::format("ktraced_cpu{}", cpu).c_str(), 0, 0,
                          static_cast<uint32_t>(bytes), &options));
    if (!map) return no_ring(cpu, bytes, {ExitCode::os, errno_text(errno)});
    return opened(RingReader::open(std::move(map), bytes));
  }

  Result<std::optional<StreamRing>> adopt(uint32_t cpu) override {
    if (pins_ == nullptr) return std::nullopt;
    Fd map = pins_->get(Pins::Kind::ring, pin_name(cpu));
    if (!map) return std::nullopt;
    const MapLayout layout = layout_of(map.get());
    if (layout != MapLayout{.type = BPF_MAP_TYPE_RINGBUF, .entries = layout.entries})
      return pins_->damaged(Pins::Kind::ring, pin_name(cpu), "it is no BPF ring buffer");
    return opened(RingReader::open(std::move(map), layout.entries));
  }

  Result<> install(uint32_t cpu, const StreamRing& ring) override {
    const int fd = ring.map_fd();
    const uint32_t slot = slot_of(session_, cpu);
    if (bpf_map_update_elem(map_, &slot, &fd, BPF_ANY) != 0)
      return fail(ExitCode::os, "cannot give CPU {} its stream ring: {}", cpu, errno_text(errno));
    return pins_ != nullptr ? pins_->pin(Pins::Kind::ring, pin_name(cpu), fd) : Result<>();
  }

  void remove(uint32_t cpu) override {
    if (pins_ != nullptr) pins_->unpin(Pins::Kind::ring, pin_name(cpu));
    const uint32_t slot = slot_of(session_, cpu);
    uint32_t ring = 0;
    if (bpf_map_lookup_elem(map_, &slot, &ring) == 0) bpf_map_delete_elem(map_, &slot);
  }

  void wait() override {}

 private:
  static Result<StreamRing> opened(Result<RingReader> reader) {
    if (!reader) return propagate(reader);
    return StreamRing(std::move(*reader));
  }
  static std::string pin_name(uint32_t cpu) { return fmt::format("stream_{}", cpu); }

  int map_;
  uint32_t session_;
  const Pins* pins_;
};

// The arena is pinned with the object, and all rings with it.
class PlacesInArena : public StreamPlaces {
 public:
  PlacesInArena(Arena& arena, uint32_t session) : arena_(arena), session_(session) {}

  Result<StreamRing> make(uint32_t cpu, size_t bytes) override {
    if (auto prepared = barrier_.prepare(); !prepared) return propagate(prepared);
    auto offset = arena_.allocate(ArenaRing::memory_for(bytes), node_of_cpu(cpu));
    if (!offset) return no_ring(cpu, bytes, offset.error());
    ArenaArea area(arena_, *offset);
    return StreamRing(ArenaRing::make(arena_.area(*offset), bytes, bytes / kWakeupsPerRing),
                      std::move(area));
  }

  Result<std::optional<StreamRing>> adopt(uint32_t cpu) override {
    if (auto prepared = barrier_.prepare(); !prepared) return propagate(prepared);
    const uint32_t offset = place(cpu).load();
    if (offset == 0) return std::nullopt;
    ArenaArea area(arena_, offset);
    if (const auto ring = ArenaRing::open(arena_.area(offset)))
      return StreamRing(*ring, std::move(area));
    remove(cpu);
    wait();  // before the area is freed
    return std::nullopt;
  }

  Result<> install(uint32_t cpu, const StreamRing& ring) override {
    place(cpu).store(ring.offset(), std::memory_order_release);
    return {};
  }

  void remove(uint32_t cpu) override { place(cpu).store(0); }
  void wait() override { barrier_.wait(); }

 private:
  [[nodiscard]] std::atomic_ref<uint32_t> place(uint32_t cpu) const {
    return arena_.place(ARENA_STREAM_PLACES, slot_of(session_, cpu));
  }

  Arena& arena_;
  uint32_t session_;
  ProgramBarrier barrier_;
};

}  // namespace

std::unique_ptr<StreamPlaces> stream_places(const BpfObject& object, uint32_t session,
                                            bool pinned) {
  if (object.arena() != nullptr) return std::make_unique<PlacesInArena>(*object.arena(), session);
  return std::make_unique<PlacesInMap>(object, session, pinned);
}

void remove_left_rings(const BpfObject& object, uint32_t session) {
  const auto places = stream_places(object, session, false);
  std::vector<StreamRing> left;
  for (uint32_t cpu = 0; cpu < possible_cpus(); ++cpu) {
    auto ring = places->adopt(cpu);
    if (ring && *ring) left.push_back(std::move(**ring));
    places->remove(cpu);
  }
  if (!left.empty()) places->wait();
}

}  // namespace ktraced
