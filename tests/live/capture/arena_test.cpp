// SPDX-License-Identifier: BSD-2-Clause
// The memory of rings in a BPF arena.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "harness/machine/memory.h"
#include "kernel/arena/arena.h"
#include "kernel/programs/bpf_object.h"
#include "kernel/programs/features.h"
#include "schema/schema_from_btf.h"

namespace ktraced::live {
namespace {

constexpr size_t kBytes = 8U << 20;

struct Kernel {
  Schema schema = schema_from_object(bpf_object_bytes()).value();
  KernelFeatures features = probe_features(schema).value();
};

class Arenas : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(object->arena()) << "this kernel has no BPF arenas"; }
  Arena& arena() { return *object->arena(); }

  Kernel kernel;
  std::optional<BpfObject> object = BpfObject::load(kernel.schema, kernel.features, {}).value();
};

bool all_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{}; });
}

TEST_F(Arenas, GiveZeroedAreasThatDoNotOverlap) {
  const uint32_t first = arena().allocate(kBytes, -1).value();
  const uint32_t second = arena().allocate(1, node_of_cpu(0)).value();
  EXPECT_EQ(arena().area(first).size(), kBytes);
  EXPECT_EQ(arena().area(second).size(), ARENA_PAGE);
  EXPECT_TRUE(all_zero(arena().area(first)));
  std::ranges::fill(arena().area(second), std::byte{7});
  EXPECT_TRUE(all_zero(arena().area(first)));
  arena().free(first);
  EXPECT_TRUE(arena().area(first).empty());
  const uint32_t third = arena().allocate(kBytes, -1).value();
  std::ranges::fill(arena().area(third), std::byte{9});
  EXPECT_TRUE(std::ranges::all_of(arena().area(second), [](auto b) { return b == std::byte{7}; }));
}

TEST_F(Arenas, FreeTheMemoryOfAnArea) {
  const size_t before = resident_kb_of_arena(getpid());
  const uint32_t offset = arena().allocate(kBytes, -1).value();
  std::ranges::fill(arena().area(offset), std::byte{1});
  EXPECT_EQ(resident_kb_of_arena(getpid()), before + kBytes / 1024);
  arena().free(offset);
  EXPECT_EQ(resident_kb_of_arena(getpid()), before);
  EXPECT_EQ(arena().allocate(kBytes, -1).value(), offset);
  EXPECT_TRUE(all_zero(arena().area(offset)));
}

TEST_F(Arenas, SayWhenThereIsNoRoom) {
  const auto too_much = arena().allocate(size_t{4} << 30, -1);
  ASSERT_FALSE(too_much);
  EXPECT_EQ(too_much.error().message, "the arena has no room for 4194304 KiB");
  const auto no_node = arena().allocate(kBytes, 4000);
  ASSERT_FALSE(no_node);
  EXPECT_EQ(no_node.error().message, "there is no memory for 8192 KiB of the arena");
  EXPECT_TRUE(arena().allocate(kBytes, -1)) << "what failed has left nothing";
}

// What a daemon has taken and not put into a table when it is killed is nobody's.
TEST_F(Arenas, KeepTheAreasThatATableMentions) {
  const uint32_t kept = arena().allocate(kBytes, -1).value();
  const uint32_t lost = arena().allocate(kBytes, -1).value();
  std::memcpy(arena().area(kept).data(), "kept", 4);
  arena().place(ARENA_FLIGHT_PLACES, 1).store(kept);
  const Fd map(::dup(object->map_fd("arena")));
  const Fd make_pages(::dup(object->program("make_pages").value()));
  const Fd free_pages(::dup(object->program("free_pages").value()));
  auto open = [&] { return Arena::open(map.get(), make_pages.get(), free_pages.get()); };
  EXPECT_FALSE(open()) << "it is mapped";
  object.reset();  // the daemon ends
  const auto next = open();
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ((*next)->place(ARENA_FLIGHT_PLACES, 1).load(), kept);
  EXPECT_EQ(std::memcmp((*next)->area(kept).data(), "kept", 4), 0);
  EXPECT_TRUE((*next)->area(lost).empty());
}

TEST(WithoutArenas, RingsAreMapsAndEverythingWorks) {
  Kernel kernel;
  kernel.features.flags.arena = 0;
  const auto object = BpfObject::load(kernel.schema, kernel.features, {});
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(object->arena(), nullptr);
  EXPECT_EQ(flight_places_of(object->map_fd(".rodata.layout")), 0);
  EXPECT_FALSE(object->unavailable().contains("kfree"));
}

}  // namespace
}  // namespace ktraced::live
