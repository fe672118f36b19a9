// SPDX-License-Identifier: BSD-2-Clause
// Frees, and memory that is not given back.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "unit/analysis/reports/kmem_analysis_fixture.h"

namespace ktraced::test {
namespace {

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
