// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/reports/kmem_analysis.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

constexpr uint64_t kSiteA = 0xffffffff81000010, kSiteB = 0xffffffff81000020;
constexpr uint64_t kEnd = 1'000'000;

// Threads 3350 and 3352 are of one process.
class KmemAnalysisTest : public DecoderTest {
 protected:
  KmemAnalysisTest() {
    learn(task_name(3350, 1, 3350, "leader"));
    learn(task_name(3352, 1, 3350, "worker"));
  }

  void take(uint32_t cpu, const Bytes& record) {
    analysis_->on_record({.source = 0, .cpu = cpu}, RecordView(record.data()));
  }
  void kmalloc(uint64_t ts, uint64_t ptr, uint64_t site = kSiteA, uint32_t cpu = 0,
               uint32_t requested = 500, uint32_t tid = 3352) {
    take(cpu, make_record(
                  EVENT_kmalloc, ts, tid,
                  rec_kmalloc{
                      .call_site = site, .ptr = ptr, .bytes_req = requested, .bytes_alloc = 512}));
  }
  void kfree(uint64_t ts, uint64_t ptr, uint32_t cpu = 0) {
    take(cpu, make_record(EVENT_kfree, ts, 812, rec_kfree{.call_site = kSiteB, .ptr = ptr}));
  }
  void cache_alloc(uint64_t ts, uint64_t ptr, uint64_t cache = kCache) {
    take(0, make_record(EVENT_kmem_cache_alloc, ts, 812,
                        rec_kmem_cache_alloc{.call_site = kSiteB,
                                             .ptr = ptr,
                                             .name = cache,
                                             .bytes_req = 190,
                                             .bytes_alloc = 192}));
  }
  void page_alloc(uint64_t ts, uint64_t page, uint32_t order) {
    take(0, make_record(EVENT_mm_page_alloc, ts, 812,
                        rec_mm_page_alloc{.page = page, .order = order}));
  }
  void page_free(uint64_t ts, uint64_t page) {
    take(0, make_record(EVENT_mm_page_free, ts, 812, rec_mm_page_free{.page = page}));
  }
  void lose(uint32_t cpu, uint64_t ts, uint32_t event, uint64_t count = 1) {
    analysis_->on_loss({.ts = ts, .cpu = cpu, .event_id = event, .count = count});
  }
  void start(size_t max_held = KmemAnalysis::kMaxHeld) {
    analysis_ = std::make_unique<KmemAnalysis>(max_held);
    analysis_->add_source(schema_, names_);
  }
  void SetUp() override { start(); }

  const KmemUse& kmallocs() { return analysis_->total(KmemType::kmalloc); }
  const KmemRow* row(KmemGroup group, uint64_t key) {
    for (const KmemRow& each : analysis_->rows(group))
      if (each.key == key && !each.others) return &each;
    return nullptr;
  }

  std::unique_ptr<KmemAnalysis> analysis_;
};

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

TEST_F(KmemAnalysisTest, CountsFreesAndTheirCpu) {
  kmalloc(1, 0x1000, kSiteA, 0);
  kmalloc(2, 0x2000, kSiteA, 1);
  kmalloc(3, 0x3000, kSiteA, 1);
  kfree(4, 0x1000, 1);
  kfree(5, 0x2000, 1);
  analysis_->finish(kEnd, 0);
  EXPECT_EQ(kmallocs().freed, 2U);
  EXPECT_EQ(kmallocs().freed_elsewhere, 1U);
  EXPECT_EQ(kmallocs().held, 1U);
  EXPECT_EQ(kmallocs().held_bytes, 512U);
  EXPECT_EQ(kmallocs().oldest_ns, kEnd - 3);
  EXPECT_EQ(kmallocs().uncertain, 0U);
}

TEST_F(KmemAnalysisTest, AcceptsKfreeOfCacheObjects) {
  cache_alloc(1, 0x1000);
  kfree(2, 0x1000);
  analysis_->finish(kEnd, 0);
  EXPECT_EQ(analysis_->total(KmemType::cache).freed, 1U);
  EXPECT_EQ(analysis_->frees(KmemType::kmalloc).unknown, 0U);
}

TEST_F(KmemAnalysisTest, CountsFreesOfUnknownAddresses) {
  kfree(1, 0x5000);
  kfree(2, 0);
  kfree(3, 16);
  page_free(4, 0xffffea0000000000);
  analysis_->finish(kEnd, 0);
  EXPECT_EQ(analysis_->frees(KmemType::kmalloc).seen, 1U);
  EXPECT_EQ(analysis_->frees(KmemType::kmalloc).unknown, 1U);
  EXPECT_EQ(analysis_->frees(KmemType::kmalloc).nothing, 2U);
  EXPECT_EQ(analysis_->frees(KmemType::pages).unknown, 1U);
  EXPECT_EQ(kmallocs().held, 0U);
}

TEST_F(KmemAnalysisTest, AssumesAFreeWhenAnAddressIsAllocatedAgain) {
  kmalloc(1, 0x1000, kSiteA);
  kmalloc(2, 0x1000, kSiteB);
  analysis_->finish(kEnd, 0);
  EXPECT_EQ(row(KmemGroup::call_site, kSiteA)->use.freed_unseen, 1U);
  EXPECT_EQ(row(KmemGroup::call_site, kSiteA)->use.held, 0U);
  EXPECT_EQ(row(KmemGroup::call_site, kSiteB)->use.held, 1U);
}

TEST_F(KmemAnalysisTest, DoesNotHoldFailedAllocations) {
  kmalloc(1, 0);
  page_alloc(2, 0, 9);
  analysis_->finish(kEnd, 0);
  EXPECT_EQ(kmallocs().failed, 1U);
  EXPECT_EQ(kmallocs().allocs, 0U);
  EXPECT_EQ(kmallocs().bytes_alloc, 0U);
  EXPECT_EQ(analysis_->total(KmemType::pages).failed, 1U);
  EXPECT_EQ(kmallocs().held, 0U);
}

// A loss on CPU 1 lies between the previous and the next event of that CPU.
TEST_F(KmemAnalysisTest, MarksHeldMemoryUncertainWhenItsFreeMayBeLost) {
  kmalloc(10, 0x1000);
  lose(1, 20, EVENT_kfree, 7);
  kmalloc(30, 0x2000);
  kmalloc(40, 0x3000, kSiteA, 1);  // the loss was before this
  kmalloc(50, 0x4000);
  analysis_->finish(kEnd, 0);
  EXPECT_EQ(kmallocs().held, 4U);
  EXPECT_EQ(kmallocs().uncertain, 3U);
  EXPECT_EQ(kmallocs().uncertain_bytes, 3 * 512U);
  EXPECT_EQ(analysis_->lost_frees(), 7U);
}

TEST_F(KmemAnalysisTest, ExtendsALastLossToTheEnd) {
  kmalloc(10, 0x1000);
  lose(1, 20, EVENT_kmem_cache_free);
  kmalloc(30, 0x2000);
  analysis_->finish(kEnd, 0);
  EXPECT_EQ(kmallocs().uncertain, 2U);
}

TEST_F(KmemAnalysisTest, IgnoresLossesOfOtherEvents) {
  kmalloc(10, 0x1000);
  page_alloc(11, 0xffffea0000000000, 0);
  lose(0, 20, EVENT_kmalloc, 3);
  lose(0, 20, EVENT_sys_enter, 3);
  lose(0, 20, EVENT_mm_page_free);
  analysis_->finish(kEnd, 0);
  EXPECT_EQ(kmallocs().uncertain, 0U);
  EXPECT_EQ(analysis_->total(KmemType::pages).uncertain, 1U);
  EXPECT_EQ(analysis_->lost_allocs(), 3U);
  EXPECT_EQ(analysis_->lost_frees(), 1U);
}

TEST_F(KmemAnalysisTest, MarksHeldMemoryUncertainWhenTheTraceIsIncomplete) {
  kmalloc(10, 0x1000);
  kmalloc(20, 0x2000);
  analysis_->finish(kEnd, 20);
  EXPECT_EQ(kmallocs().uncertain, 1U);
  start();
  kmalloc(10, 0x1000);
  analysis_->finish(kEnd, UINT64_MAX);
  EXPECT_EQ(kmallocs().uncertain, 1U);
}

TEST_F(KmemAnalysisTest, ReportsAgesOfHeldMemory) {
  for (uint64_t age : {0UL, 999UL, 1000UL, 99'999UL, kEnd})
    kmalloc(kEnd - age, 0x10000 + 4096 * age);
  analysis_->finish(kEnd, 0);
  EXPECT_EQ(analysis_->ages()[0], 2U);  // below 1 µs
  EXPECT_EQ(analysis_->ages()[1], 1U);
  EXPECT_EQ(analysis_->ages()[2], 1U);
  EXPECT_EQ(analysis_->ages()[4], 1U);  // 1 ms
}

TEST_F(KmemAnalysisTest, ReportsAllocationsBeyondTheLimit) {
  start(2);
  for (uint64_t i = 1; i <= 5; ++i) kmalloc(i, 0x1000 * i);
  kfree(6, 0x1000);
  kfree(7, 0x5000);
  analysis_->finish(kEnd, 0);
  EXPECT_EQ(kmallocs().allocs, 5U);
  EXPECT_EQ(kmallocs().held, 1U);
  EXPECT_EQ(analysis_->not_followed(), 3U);
  EXPECT_EQ(analysis_->frees(KmemType::kmalloc).unknown, 1U);
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

TEST_F(KmemAnalysisTest, MarksMemoryAllocatedBeforeAPauseUncertain) {
  auto change_config = [&](uint64_t ts, const char* config) {
    analysis_->on_config_change(ts, TraceConfig::of(nlohmann::json::parse(config)));
  };
  change_config(0, R"({"state":"running"})");
  kmalloc(1, 0x1000);
  kmalloc(2, 0x2000);
  change_config(10, R"({"state":"paused"})");
  change_config(20, R"({"state":"running"})");
  kmalloc(30, 0x3000);
  kfree(40, 0x2000, 1);  // perhaps of an object allocated here during the pause
  analysis_->finish(kEnd, 0);
  EXPECT_EQ(kmallocs().freed, 1U);
  EXPECT_EQ(kmallocs().freed_elsewhere, 0U);
  EXPECT_EQ(kmallocs().held, 2U);
  EXPECT_EQ(kmallocs().uncertain, 1U);
}

}  // namespace
}  // namespace ktraced::test
