// SPDX-License-Identifier: BSD-2-Clause
// Gives a KmemAnalysis events of allocations.
#pragma once

#include <memory>

#include "analysis/reports/kmem_analysis.h"
#include "unit/support/decoder_fixture.h"

namespace ktraced::test {

// Threads 3350 and 3352 are of one process.
class KmemAnalysisTest : public DecoderTest {
 protected:
  static constexpr uint64_t kSiteA = 0xffffffff81000010, kSiteB = 0xffffffff81000020;
  static constexpr uint64_t kEnd = 1'000'000;

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

}  // namespace ktraced::test
