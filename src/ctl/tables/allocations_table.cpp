// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <string>
#include <unordered_map>

#include "analysis/reports/kmem_analysis.h"
#include "ctl/reports/kmem_report.h"
#include "ctl/tables/analysis_scan.h"
#include "ctl/tables/event_tables.h"
#include "ctl/tables/interval_names.h"
#include "ctl/tables/tables.h"
#include "schema/names.h"

namespace ktraced {
namespace {

std::optional<uint64_t> node_number(int32_t node) {
  return node >= 0 ? std::optional(static_cast<uint64_t>(node)) : std::nullopt;
}

constexpr std::string_view kAllocationUses[] = {
    "kmalloc", "kfree", "kmem_cache_alloc", "kmem_cache_free", "mm_page_alloc", "mm_page_free"};
constexpr std::string_view kAllocationRows[] = {"kmalloc", "kmem_cache_alloc", "mm_page_alloc"};

// Which frees are missing must not depend on which kinds of memory are in a part, and the limit of
// held allocations must not be reached.
bool allocations_can_begin_late(const TableInput& input) {
  if (!can_begin_late(input)) return false;
  uint64_t count = 0;
  for (const std::string_view event : kAllocationRows) count += records_in(input.history, event);
  TraceInput facts(input.history.again());
  return count <= KmemAnalysis::kMaxHeld &&
         facts.facts({"kfree", "kmem_cache_free", "mm_page_free"}).whole_since_ns ==
             facts.facts({}).whole_since_ns;
}

class AllocationScan : public AnalysisScan, public KmemSink {
 public:
  AllocationScan(const TableInput& input, const std::vector<Column>& columns,
                 const ScanLimits& limits, const std::atomic<bool>& stop)
      : AnalysisScan(input, columns, limits, stop, allocations_can_begin_late(input)),
        traces_(input.history),
        last_begin_ns_(limits.end_ns) {
    kmem_.set_sink(*this);
  }

  void on_alloc(const RecordOrigin& from, RecordView record, const KmemCall& call,
                bool followed) override {
    const Allocation made{.ts = record.ts(), .tid = record.tid(), .from = from, .call = call};
    if (!followed) return add(made, nullptr);
    ongoing_.insert_or_assign(call.ptr, made);
    if (made.ts <= last_begin_ns_) ++open_;
  }
  void on_end(const End& end) override {
    const auto found = ongoing_.find(end.ptr);
    if (found == ongoing_.end()) return;
    if (finishing_) {
      held_.emplace_back(found->second, end);
    } else {
      add(found->second, &end);
      if (found->second.ts <= last_begin_ns_) --open_;
      ongoing_.erase(found);
    }
  }

 private:
  struct Allocation {
    uint64_t ts = 0;
    uint32_t tid = 0;
    RecordOrigin from;
    KmemCall call;
  };

  // `end` is null if it is not known.
  void add(const Allocation& made, const End* end) {
    const bool freed = end != nullptr && end->how == AllocationEnd::freed;
    add_times(made.ts, freed ? std::optional(end->ts) : std::nullopt, freed && !end->uncertain);
    rows().integer(made.from.cpu);
    add_task(made.tid, made.ts, made.from.cpu);
    rows().integer(freed ? std::optional<uint64_t>(end->cpu) : std::nullopt);
    add_call(made);
    if (end != nullptr)
      rows().name(name_of(end->how));
    else
      rows().name(made.call.ptr <= kNoMemory ? "failed" : "evicted");
    rows().integer(end != nullptr && end->uncertain ? 1U : 0U);
  }
  void add_call(const Allocation& made) {
    const TraceReader& trace = traces_.traces()[made.from.source];
    const KmemCall& call = made.call;
    const bool pages = call.type == KmemType::pages;
    const auto unless_pages = [&](uint64_t number) {
      return pages ? std::nullopt : std::optional(number);
    };
    rows().name(name_of(call.type));
    rows().integer(call.ptr);
    rows().integer(unless_pages(call.call_site));
    const auto symbol = trace.symbols().find(call.call_site);
    if (pages || symbol == trace.symbols().end())
      rows().null();
    else
      rows().text(std::string_view(symbol->second));
    const std::string_view cache = trace.names().cache_name(call.cache);
    if (cache.empty())
      rows().null();
    else
      rows().text(cache);
    rows().integer(call.bytes_req);
    rows().integer(call.bytes_alloc);
    rows().integer(call.gfp_flags);
    rows().text(std::string_view(gfp_names(call.gfp_flags, trace.schema().gfp_flags)));
    rows().integer(pages ? std::optional<uint64_t>(call.order) : std::nullopt);
    rows().integer(node_number(call.node));
    rows().integer(node_number(call.page_node));
  }
  [[nodiscard]] bool is_open(uint64_t ns) const override {
    return ns >= last_begin_ns_ && open_ != 0;
  }
  [[nodiscard]] Analysis& analysis() override { return kmem_; }
  void finish(TraceInput& input) override {
    finishing_ = true;
    const std::vector<std::string> freeing = events_that_free(kmem_);
    const ReportFacts facts = input.facts(freeing);
    kmem_.finish(facts.end_ns, has_all(freeing) ? facts.whole_since_ns : UINT64_MAX);
    std::ranges::sort(
        held_, {}, [](const auto& each) { return std::pair(each.first.ts, each.first.call.ptr); });
    for (const auto& [made, end] : held_) add(made, &end);
    held_.clear();
    ongoing_.clear();
  }

  static constexpr uint64_t kNoMemory = 16;  // NULL, and what kmalloc(0) returns

  const History& traces_;
  uint64_t last_begin_ns_;  // of rows that are asked for
  uint64_t open_ = 0;       // of ongoing_, those that began until then
  KmemAnalysis kmem_;
  std::unordered_map<uint64_t, Allocation> ongoing_;  // by address
  bool finishing_ = false;
  std::vector<std::pair<Allocation, End>> held_;  // at the end
};

}  // namespace

std::unique_ptr<QueryTable> allocations_table(const TableInput& input) {
  std::vector<Column> columns;
  add_time_columns(columns, "when it was allocated", "when it was freed");
  columns.push_back({.name = "cpu", .doc = "that allocated it", .limits = Limits::cpu});
  add_task_columns(columns);
  columns.push_back({.name = "free_cpu", .doc = "that freed it"});
  columns.push_back({.name = "type", .is_text = true, .doc = "kmalloc, cache or pages"});
  columns.push_back({.name = "ptr", .doc = "its address; of pages their struct page"});
  columns.push_back({.name = "call_site", .doc = "the address of the caller; not of pages"});
  columns.push_back({.name = "call_site_symbol", .is_text = true, .doc = "its function"});
  columns.push_back({.name = "cache", .is_text = true, .doc = "the name of the slab cache"});
  columns.push_back({.name = "bytes_req", .doc = "bytes that were requested"});
  columns.push_back({.name = "bytes_alloc", .doc = "bytes that were allocated"});
  columns.push_back({.name = "gfp_flags", .doc = "how memory may be found"});
  columns.push_back({.name = "gfp_flags_names", .is_text = true, .doc = "GFP_KERNEL …"});
  columns.push_back({.name = "page_order", .doc = "of pages: there are 2^page_order"});
  columns.push_back({.name = "node", .doc = "the NUMA node that was requested; NULL: any"});
  columns.push_back({.name = "page_node", .doc = "the NUMA node of the memory; NULL: unknown"});
  columns.push_back({.name = "outcome",
                     .is_text = true,
                     .doc = "freed, held at the end, unseen, failed or evicted"});
  columns.push_back(
      {.name = "uncertain", .doc = "1: events are missing that could say something else"});
  return std::make_unique<AnalysisTable<AllocationScan>>(
      input, "allocations", "kernel memory from allocation to free", std::move(columns),
      kAllocationUses, kAllocationUses, kAllocationRows);
}

}  // namespace ktraced
