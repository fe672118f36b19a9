// SPDX-License-Identifier: BSD-2-Clause
// Where programs find the rings of streams, of both kinds.
#include <bpf/bpf.h>
#include <gtest/gtest.h>

#include <optional>

#include "kernel/programs/bpf_object.h"
#include "kernel/programs/features.h"
#include "kernel/rings/stream_rings.h"
#include "schema/schema_from_btf.h"

namespace ktraced::live {
namespace {

constexpr uint32_t kStreamSession = SESSION_CLIENT_FIRST;
constexpr size_t kRingBytes = 64U << 10;

// The parameter: rings are in the arena, if the kernel has arenas.
class PlacesOfStreams : public testing::TestWithParam<bool> {
 protected:
  PlacesOfStreams() {
    const Schema schema = schema_from_object(bpf_object_bytes()).value();
    KernelFeatures features = probe_features(schema).value();
    if (!GetParam()) features.flags.arena = 0;
    object.emplace(BpfObject::load(schema, features, {}).value());
  }
  bool programs_find_a_ring(uint32_t cpu) {
    const uint32_t slot = kStreamSession * possible_cpus() + cpu;
    if (object->arena() != nullptr)
      return object->arena()->place(ARENA_STREAM_PLACES, slot).load() != 0;
    uint32_t ring = 0;
    return bpf_map_lookup_elem(object->map_fd("stream_rings"), &slot, &ring) == 0;
  }
  // Is there memory of this ring in the arena?
  bool is_in_use(uint32_t offset) {
    return object->arena() != nullptr && !object->arena()->area(offset).empty();
  }

  std::optional<BpfObject> object;
};
INSTANTIATE_TEST_SUITE_P(Rings, PlacesOfStreams, testing::Bool(),
                         [](const auto& kind) { return kind.param ? "InTheArena" : "InMaps"; });

TEST_P(PlacesOfStreams, AreEmptyAfterTheStream) {
  uint32_t offset = 0;
  {
    StreamRings rings(*object, kStreamSession, kRingBytes, false);
    EXPECT_FALSE(programs_find_a_ring(0));
    ASSERT_TRUE(rings.add_cpu(0));
    EXPECT_TRUE(programs_find_a_ring(0));
    EXPECT_EQ(rings.rings().at(0).size(), kRingBytes);
    EXPECT_EQ(rings.rings().at(0).produced(), 0U);
    offset = rings.rings().at(0).offset();
    rings.retire();
    EXPECT_FALSE(programs_find_a_ring(0));
    EXPECT_EQ(is_in_use(offset), offset != 0) << "it can still be read";
  }
  EXPECT_FALSE(is_in_use(offset));
}

TEST_P(PlacesOfStreams, HaveTheNewRingsAfterAResize) {
  StreamRings rings(*object, kStreamSession, kRingBytes, false);
  ASSERT_TRUE(rings.add_cpu(0));
  uint32_t offset = 0;
  {
    const auto old = rings.resize(2 * kRingBytes);
    ASSERT_TRUE(old) << old.error().message;
    EXPECT_EQ(old->at(0).size(), kRingBytes);
    offset = old->at(0).offset();
    EXPECT_EQ(is_in_use(offset), offset != 0);
  }
  EXPECT_FALSE(is_in_use(offset));
  EXPECT_EQ(rings.rings().at(0).size(), 2 * kRingBytes);
  EXPECT_TRUE(programs_find_a_ring(0));
  if (object->arena() != nullptr) {
    const auto place =
        object->arena()->place(ARENA_STREAM_PLACES, kStreamSession * possible_cpus());
    EXPECT_EQ(place.load(), rings.rings().at(0).offset());
  }
}

TEST_P(PlacesOfStreams, ThatAKilledDaemonLeftAreEmptied) {
  uint32_t offset = 0;
  {
    const auto places = stream_places(*object, kStreamSession, false);
    auto ring = places->make(1, kRingBytes);
    ASSERT_TRUE(ring) << ring.error().message;
    ASSERT_TRUE(places->install(1, *ring));
    offset = ring->offset();
    ring->leave();
  }
  EXPECT_TRUE(programs_find_a_ring(1));
  remove_left_rings(*object, kStreamSession);
  EXPECT_FALSE(programs_find_a_ring(1));
  EXPECT_FALSE(is_in_use(offset));
}

TEST_P(PlacesOfStreams, SayWhichRingCannotBeMade) {
  StreamRings rings(*object, kStreamSession, size_t{4} << 30, false);
  const auto added = rings.add_cpu(1);
  ASSERT_FALSE(added);
  EXPECT_TRUE(
      added.error().message.starts_with("cannot make a stream ring of 4194304 KiB for CPU 1: "))
      << added.error().message;
  EXPECT_TRUE(added.error().message.ends_with("; choose a smaller stream.buffer_kb"));
}

}  // namespace
}  // namespace ktraced::live
