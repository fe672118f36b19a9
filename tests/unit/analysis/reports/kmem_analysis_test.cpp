// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/reports/kmem_analysis.h"

#include <gtest/gtest.h>

#include <map>

#include "unit/analysis/reports/kmem_analysis_fixture.h"

namespace ktraced::test {
namespace {

TEST_F(KmemAnalysisTest, CountsRequestedAndAllocatedBytesByCallSite) {
  kmalloc(1, 0x1000);
  kmalloc(2, 0x2000, kSiteA, 0, 512);
  kmalloc(3, 0x3000, kSiteB, 0, 300);
  analysis_->finish(kEnd, 0);
  const KmemUse& a = row(KmemGroup::call_site, kSiteA)->use;
  EXPECT_EQ(a.allocs, 2U);
  EXPECT_EQ(a.bytes_req, 1012U);
  EXPECT_EQ(a.bytes_alloc, 1024U);
  EXPECT_EQ(a.waste(), 12U);
  EXPECT_EQ(row(KmemGroup::call_site, kSiteB)->use.waste(), 212U);
  EXPECT_EQ(row(KmemGroup::size, 512)->use.allocs, 3U);
  EXPECT_EQ(row(KmemGroup::size, 512)->use.allocs, 3U);
  EXPECT_TRUE(analysis_->rows(KmemGroup::cache).empty()) << "a kmalloc event has no cache";
  EXPECT_EQ(kmallocs().bytes_alloc, 3 * 512U);
}

TEST_F(KmemAnalysisTest, CountsCachesByNameAndPagesByOrder) {
  cache_alloc(1, 0x1000);
  cache_alloc(2, 0x2000);
  page_alloc(3, 0xffffea0000000000, 0);
  page_alloc(4, 0xffffea0000000040, 3);
  analysis_->finish(kEnd, 0);
  EXPECT_EQ(row(KmemGroup::cache, kCache)->name, "dentry");
  EXPECT_EQ(row(KmemGroup::cache, kCache)->use.waste(), 4U);
  EXPECT_EQ(row(KmemGroup::order, 3)->use.bytes_alloc, 8 * kPageBytes);
  EXPECT_EQ(analysis_->total(KmemType::pages).bytes_alloc, 9 * kPageBytes);
  EXPECT_EQ(analysis_->rows(KmemGroup::call_site).size(), 1U) << "pages have none";
}

TEST_F(KmemAnalysisTest, CountsProcessesNotThreads) {
  kmalloc(1, 0x1000, kSiteA, 0, 500, 3352);
  kmalloc(2, 0x2000, kSiteA, 0, 500, 3350);
  kmalloc(3, 0x3000, kSiteA, 0, 500, 3352);
  analysis_->finish(kEnd, 0);
  ASSERT_EQ(analysis_->rows(KmemGroup::task).size(), 1U);
  const KmemRow& process = analysis_->rows(KmemGroup::task)[0];
  EXPECT_EQ(process.actor, 3350U);
  EXPECT_FALSE(process.is_thread);
  EXPECT_EQ(process.name, "leader");
  EXPECT_EQ(process.use.allocs, 3U);
}

TEST_F(KmemAnalysisTest, CountsAllocationsInInterruptsWhereContextsAreKnown) {
  const auto alloc_in = [&](record_context context, uint64_t ts, uint64_t site) {
    take(0, in_context(context, make_record(EVENT_kmalloc, ts, 3352,
                                            rec_kmalloc{.call_site = site, .ptr = ts << 12})));
  };
  kmalloc(1, 0x9000, kSiteB);
  alloc_in(CONTEXT_TASK, 2, kSiteA);
  alloc_in(CONTEXT_SOFTIRQ, 3, kSiteA);
  alloc_in(CONTEXT_HARDIRQ_IN_SOFTIRQ, 4, kSiteA);
  analysis_->finish(kEnd, 0);
  EXPECT_EQ(row(KmemGroup::call_site, kSiteA)->use.in_interrupt, 2U);
  EXPECT_EQ(row(KmemGroup::call_site, kSiteB)->use.in_interrupt, std::nullopt);
  EXPECT_EQ(kmallocs().in_interrupt, 2U);
}

TEST_F(KmemAnalysisTest, CountsRowsBeyondTheLimitTogether) {
  for (uint64_t i = 0; i < KmemAnalysis::kMaxRows + 10; ++i)
    kmalloc(i, 0x1000 * (i + 1), kSiteA + i);
  analysis_->finish(kEnd, 0);
  const auto& rows = analysis_->rows(KmemGroup::call_site);
  ASSERT_EQ(rows.size(), KmemAnalysis::kMaxRows + 1);
  EXPECT_TRUE(rows.back().others);
  EXPECT_EQ(rows.back().use.allocs, 10U);
}

// Expects the same sums in each table, so that every event is in each of them.
TEST_F(KmemAnalysisTest, AddsUp) {
  for (uint64_t i = 1; i <= 1000; ++i) {
    kmalloc(3 * i, 0x1000 * (i % 37 + 1), kSiteA + i % 5, i % 3);
    if (i % 4 != 0) kfree(3 * i + 1, 0x1000 * (i % 41 + 1), i % 2);
  }
  analysis_->finish(kEnd, 1500);
  const KmemUse& total = kmallocs();
  EXPECT_EQ(total.allocs, total.freed + total.freed_unseen + total.held);
  EXPECT_EQ(analysis_->frees(KmemType::kmalloc).seen,
            total.freed + analysis_->frees(KmemType::kmalloc).unknown);
  for (KmemGroup group : {KmemGroup::call_site, KmemGroup::size, KmemGroup::task,
                          KmemGroup::task_site, KmemGroup::gfp_flags, KmemGroup::node}) {
    KmemUse sum;
    for (const KmemRow& row : analysis_->rows(group)) {
      sum.allocs += row.use.allocs;
      sum.freed += row.use.freed;
      sum.held += row.use.held;
      sum.uncertain += row.use.uncertain;
    }
    EXPECT_EQ(sum.allocs, total.allocs);
    EXPECT_EQ(sum.freed, total.freed);
    EXPECT_EQ(sum.held, total.held);
    EXPECT_EQ(sum.uncertain, total.uncertain);
  }
}

TEST_F(KmemAnalysisTest, CountsProcessesAtEachCallSite) {
  kmalloc(1, 0x1000, kSiteA, 0, 500, 3352);
  kmalloc(2, 0x2000, kSiteB, 0, 500, 3350);
  kmalloc(3, 0x3000, kSiteA, 0, 500, 812);
  kmalloc(4, 0x4000, kSiteA, 0, 500, 3350);
  page_alloc(5, 0xffffea0000000000, 0);
  analysis_->finish(kEnd, 0);
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> found;
  for (const KmemRow& each : analysis_->rows(KmemGroup::task_site)) {
    const KmemTaskSite both = KmemTaskSite::of(each.key);
    found[{analysis_->rows(KmemGroup::task)[both.task].actor,
           analysis_->rows(KmemGroup::call_site)[both.call_site].key}] = each.use.allocs;
  }
  const decltype(found) expected = {{{3350, kSiteA}, 2}, {{3350, kSiteB}, 1}, {{812, kSiteA}, 1}};
  EXPECT_EQ(found, expected) << "pages have no call site";
}

TEST_F(KmemAnalysisTest, CountsProcessesAtCallSitesBeyondTheTableTogether) {
  for (uint64_t i = 0; i < KmemAnalysis::kMaxRows + 10; ++i)
    kmalloc(i + 1, 0x1000, kSiteA + i % (KmemAnalysis::kMaxRows + 5));
  analysis_->finish(kEnd, 0);
  const auto& rows = analysis_->rows(KmemGroup::task_site);
  ASSERT_EQ(rows.size(), KmemAnalysis::kMaxRows + 1);
  EXPECT_TRUE(rows.back().others);
  EXPECT_EQ(rows.back().use.allocs, 5U);
}

TEST_F(KmemAnalysisTest, CountsFlagsAndNodes) {
  const auto take_from = [this](uint64_t ptr, uint32_t flags, node_t requested, node_t page_node) {
    take(0, make_record(EVENT_kmalloc, 1, 812,
                        rec_kmalloc{.ptr = ptr,
                                    .bytes_alloc = 64,
                                    .gfp_flags = flags,
                                    .node = requested,
                                    .page_node = page_node}));
  };
  take_from(0x1000, 0xcc0, -1, 0);
  take_from(0x2000, 0xcc0, -1, 0);
  take_from(0x3000, 0, 1, 1);
  take_from(0x4000, 0, -1, -1);
  page_alloc(5, 0xffffea0000000000, 0);
  analysis_->finish(kEnd, 0);
  EXPECT_EQ(row(KmemGroup::gfp_flags, 0xcc0)->use.allocs, 2U);
  EXPECT_EQ(row(KmemGroup::gfp_flags, 0)->use.allocs, 3U);
  EXPECT_EQ(row(KmemGroup::gfp_flags, 0)->name, "none");
  const auto in_node = [this](int32_t page_node, int32_t requested) {
    const KmemNode node{.page_node = page_node, .requested = requested};
    return row(KmemGroup::node, node.key())->use.allocs;
  };
  EXPECT_EQ(in_node(0, -1), 3U) << "with the page";
  EXPECT_EQ(in_node(1, 1), 1U);
  EXPECT_EQ(in_node(-1, -1), 1U);
  EXPECT_EQ(KmemNode::of(KmemNode{.page_node = 1, .requested = -1}.key()).requested, -1);
}

// Kernels before 6.1 do not record the name.
TEST_F(KmemAnalysisTest, DistinguishesUnnamedCachesBySize) {
  cache_alloc(1, 0x1000, 0);
  cache_alloc(2, 0x2000);
  ASSERT_EQ(analysis_->rows(KmemGroup::cache).size(), 2U);
  EXPECT_TRUE(analysis_->rows(KmemGroup::cache)[0].unnamed);
  EXPECT_EQ(analysis_->rows(KmemGroup::cache)[0].key, 192U);
  EXPECT_FALSE(analysis_->rows(KmemGroup::cache)[1].unnamed);
  EXPECT_TRUE(analysis_->rows(KmemGroup::size).empty());
}

TEST_F(KmemAnalysisTest, GroupsByStacks) {
  StackSums stacks(StacksBy::process);
  analysis_->set_stacks(stacks);
  const stack_numbers numbers{.kernel = 0x8000000000000001, .user = 0x8000000000000002};
  const auto allocate = [&](uint64_t ptr, const stack_numbers& at) {
    const Bytes record = make_record(EVENT_kmalloc, 100, 3352,
                                     rec_kmalloc{.ptr = ptr, .bytes_req = 500, .bytes_alloc = 512});
    take(0, at.kernel != 0 ? with_stacks(record, at) : record);
  };
  allocate(0x100, numbers);
  allocate(0x200, numbers);
  allocate(0x300, {});
  kfree(200, 0x100);
  analysis_->finish(kEnd, 0);
  ASSERT_EQ(stacks.rows().size(), 2U);
  EXPECT_EQ(stacks.rows()[0].key.at.user, numbers.user);
  const KmemRow* with_stack = row(KmemGroup::stacks, 0);
  ASSERT_NE(with_stack, nullptr);
  EXPECT_EQ(with_stack->use.allocs, 2U);
  EXPECT_EQ(with_stack->use.held, 1U);
  EXPECT_EQ(with_stack->use.held_bytes, 512U);
  ASSERT_NE(row(KmemGroup::stacks, 1), nullptr);
  EXPECT_EQ(row(KmemGroup::stacks, 1)->use.held, 1U);
}

}  // namespace
}  // namespace ktraced::test
