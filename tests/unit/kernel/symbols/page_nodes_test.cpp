// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/symbols/page_nodes.h"

#include <bpf/btf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/programs/kernel_btf.h"

namespace ktraced {
namespace {

using ::testing::ElementsAre;

// struct page { unsigned long pad?, flags; … } and struct kmem_cache { void *node[nodes]; }
BtfPtr page_btf(uint32_t nodes, uint32_t flags_at = 0) {
  BtfPtr btf(btf__new_empty());
  const int number = btf__add_int(btf.get(), "unsigned long", 8, 0);
  btf__add_struct(btf.get(), "page", 64);
  if (flags_at != 0) btf__add_field(btf.get(), "other", number, 0, 0);
  btf__add_field(btf.get(), "flags", number, flags_at * 8, 0);
  const int array = btf__add_array(btf.get(), number, number, nodes);
  btf__add_struct(btf.get(), "kmem_cache", 8 + 8 * nodes);
  btf__add_field(btf.get(), "node", array, 64, 0);
  return btf;
}

TEST(PageNodes, AreTheHighestBitsOfAPagesFlags) {
  const auto layout = page_nodes_from_btf(page_btf(1024).get());
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->flags_shift, 54);
  EXPECT_EQ(layout->page_struct, 64U);
  EXPECT_EQ(page_nodes_from_btf(page_btf(64).get())->flags_shift, 58);
}

TEST(PageNodes, AreUnknownInOtherKernels) {
  EXPECT_FALSE(page_nodes_from_btf(page_btf(1).get())) << "no NUMA";
  EXPECT_FALSE(page_nodes_from_btf(page_btf(48).get()));
  EXPECT_FALSE(page_nodes_from_btf(page_btf(1024, 8).get())) << "the flags are not first";
  EXPECT_FALSE(page_nodes_from_btf(BtfPtr(btf__new_empty()).get()));
}

TEST(PageNodes, AreProvedByTheFirstFrameOfEachZone) {
  EXPECT_THAT(node_frames("Node 0, zone      DMA\n"
                          "  per-node stats\n"
                          "        present  3998\n"
                          "  start_pfn:           1\n"
                          "Node 0, zone  Movable\n"
                          "        present  0\n"
                          "  start_pfn:           0\n"
                          "Node 1, zone    DMA32\n"
                          "        present  65536\n"
                          "  node_unreclaimable:  0\n"
                          "  start_pfn:           262144\n"),
              ElementsAre(NodeFrame{.node = 0, .frame = 1}, NodeFrame{.node = 1, .frame = 262144}));
  EXPECT_TRUE(node_frames("").empty());
}

}  // namespace
}  // namespace ktraced
