// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/reports/kmem_analysis.h"

#include <algorithm>

#include "schema/names.h"

namespace ktraced {
namespace {

// The return value of kmalloc(0). Like NULL, it is not memory.
constexpr uint64_t kZeroSizePointer = 16;

constexpr std::string_view kKmemEvents[] = {"kmalloc",         "kfree",         "kmem_cache_alloc",
                                            "kmem_cache_free", "mm_page_alloc", "mm_page_free"};

uint64_t group_key(uint64_t key, KmemType type) { return key * 4 + static_cast<uint64_t>(type); }

}  // namespace

void KmemAnalysis::add_source(const Schema& schema, const NameTable& names) {
  sources_.push_back({KmemReader(schema), &schema, &names});
}

void KmemAnalysis::on_record(const RecordOrigin& from, RecordView record) {
  if (!losing_.empty()) end_loss(from.cpu, record.ts());
  const auto call = sources_[from.source].reader.read(record);
  if (!call) return;
  if (call->is_alloc)
    on_alloc(from, record, *call);
  else
    on_free(from, record, *call);
}

void KmemAnalysis::on_alloc(const RecordOrigin& from, RecordView record, const KmemCall& call) {
  const Held held = held_of(from, record, call);
  if (call.ptr <= kZeroSizePointer) {
    change(held, [](KmemUse& use) { ++use.failed; });
    if (sink_ != nullptr && held.selected) sink_->on_alloc(from, record, call, false);
    return;
  }
  const bool in_interrupt = context_flags(record.context()) != 0;
  change(held, [&](KmemUse& use) {
    if (use.allocs++ == 0) use.first_ns = held.ts;
    use.bytes_req += call.bytes_req;
    use.bytes_alloc += call.bytes_alloc;
    if (record.context() != CONTEXT_UNKNOWN)
      use.in_interrupt = use.in_interrupt.value_or(0) + (in_interrupt ? 1 : 0);
  });
  const bool followed = hold(call.ptr, held);
  if (sink_ != nullptr && held.selected) sink_->on_alloc(from, record, call, followed);
}

bool KmemAnalysis::hold(uint64_t ptr, const Held& held) {
  if (const auto before = held_.find(ptr); before != held_.end()) {
    change(before->second, [](KmemUse& use) { ++use.freed_unseen; });
    give_end(before->second, {.ptr = ptr, .how = AllocationEnd::unseen, .ts = held.ts});
    before->second = held;
  } else if (held_.size() < max_held_) {
    held_.emplace(ptr, held);
  } else {
    ++not_followed_;
    return false;
  }
  return true;
}

void KmemAnalysis::on_free(const RecordOrigin& from, RecordView record, const KmemCall& call) {
  KmemFrees not_selected;
  KmemFrees& frees = is_selected(from, record) ? frees_[index(call.type)] : not_selected;
  if (call.ptr <= kZeroSizePointer) {
    ++frees.nothing;
    return;
  }
  ++frees.seen;
  const auto found = held_.find(call.ptr);
  if (found == held_.end() || kind(found->second.type) != kind(call.type)) {
    ++frees.unknown;
    return;
  }
  // If events are missing in between, this may be the free of a later allocation.
  const bool uncertain = found->second.ts <= frees_lost_until_[kind(call.type)];
  const bool elsewhere = found->second.cpu != static_cast<uint16_t>(from.cpu) && !uncertain;
  change(found->second, [&](KmemUse& use) {
    ++use.freed;
    use.freed_elsewhere += elsewhere ? 1 : 0;
  });
  give_end(found->second,
           {.ptr = call.ptr, .ts = record.ts(), .cpu = from.cpu, .uncertain = uncertain});
  held_.erase(found);
}

template <class Change>
void KmemAnalysis::change(const Held& held, Change&& change) {
  if (!held.selected) return;
  change(totals_[index(held.type)]);
  for (size_t group = 0; group < kKmemGroups; ++group)
    if (held.rows[group] != kNone) change(tables_[group][held.rows[group]].use);
}

KmemAnalysis::Held KmemAnalysis::held_of(const RecordOrigin& from, RecordView record,
                                         const KmemCall& call) {
  Held held{.ts = record.ts(),
            .bytes_alloc = call.bytes_alloc,
            .rows = {},
            .cpu = static_cast<uint16_t>(from.cpu),
            .type = call.type,
            .selected = is_selected(from, record)};
  held.rows.fill(kNone);
  if (!held.selected) return held;
  const Source& source = sources_[from.source];
  auto row = [&](KmemGroup group) -> uint32_t& { return held.rows[static_cast<size_t>(group)]; };
  row(KmemGroup::task) = task_row(from, record);
  if (stacks_ != nullptr)
    row(KmemGroup::stacks) =
        row_of(KmemGroup::stacks,
               stacks_->row_of({.at = stacks_->place_of(record, *source.names)}, record.ts()),
               KmemType::kmalloc);
  row(KmemGroup::gfp_flags) = flags_row(call, *source.schema);
  const KmemNode node{.page_node = call.page_node, .requested = call.node};
  row(KmemGroup::node) = row_of(KmemGroup::node, node.key(), KmemType::kmalloc);
  if (call.type == KmemType::pages) {
    row(KmemGroup::order) = row_of(KmemGroup::order, call.order, call.type);
  } else {
    row(KmemGroup::call_site) = row_of(KmemGroup::call_site, call.call_site, call.type);
    if (call.type == KmemType::kmalloc)
      row(KmemGroup::size) = row_of(KmemGroup::size, call.bytes_alloc, call.type);
    else
      row(KmemGroup::cache) = cache_row(call, *source.names);
    row(KmemGroup::task_site) = task_site_row(
        {.task = row(KmemGroup::task), .call_site = row(KmemGroup::call_site)}, call.type);
  }
  return held;
}

uint32_t KmemAnalysis::row_of(KmemGroup group, uint64_t key, KmemType type) {
  const auto [row, is_new] = table(group).place_of(group_key(key, type));
  if (is_new) {
    table(group)[row].key = key;
    table(group)[row].type = type;
  }
  return row;
}

// The name may come later than the first record. Kernels before 6.1 do not provide it.
uint32_t KmemAnalysis::cache_row(const KmemCall& call, const NameTable& names) {
  const bool named = call.cache != 0;
  const uint32_t row = row_of(KmemGroup::cache, named ? call.cache : call.bytes_alloc,
                              named ? KmemType::cache : KmemType::kmalloc);
  KmemRow& cache = table(KmemGroup::cache)[row];
  if (cache.others) return row;
  cache.unnamed = !named;
  if (named && cache.name.empty()) cache.name = names.cache_name(call.cache);
  return row;
}

uint32_t KmemAnalysis::task_row(const RecordOrigin& from, RecordView record) {
  const Actor actor = actor_of(record, *sources_[from.source].names);
  const uint32_t number = actors_.of(actor).value_or(UINT32_MAX);
  const uint32_t row = row_of(KmemGroup::task, number, KmemType::kmalloc);
  KmemRow& made = table(KmemGroup::task)[row];
  if (made.others) return row;
  made.actor = actor.id;
  made.is_thread = !actor.known;
  if (actor.start_ns != 0) made.start_ns = actor.start_ns;
  actor.name(made.name);
  return row;
}

uint32_t KmemAnalysis::task_site_row(const KmemTaskSite& of, KmemType type) {
  const bool others =
      table(KmemGroup::task)[of.task].others || table(KmemGroup::call_site)[of.call_site].others;
  return others ? table(KmemGroup::task_site).others()
                : row_of(KmemGroup::task_site, of.key(), type);
}

uint32_t KmemAnalysis::flags_row(const KmemCall& call, const Schema& schema) {
  const uint32_t row = row_of(KmemGroup::gfp_flags, call.gfp_flags, KmemType::kmalloc);
  KmemRow& flags = table(KmemGroup::gfp_flags)[row];
  if (!flags.others && flags.name.empty()) flags.name = gfp_names(call.gfp_flags, schema.gfp_flags);
  return row;
}

void KmemAnalysis::on_loss(const LossItem& loss) {
  const auto call = sources_[loss.source].reader.call_of(loss.event_id);
  if (!call) return;
  (call->is_alloc ? lost_allocs_ : lost_frees_) += loss.count;
  if (!call->is_alloc) losing_[loss.cpu][kind(call->type)] = true;
}

// Frees of earlier allocations may be unrecorded.
void KmemAnalysis::on_config_change(uint64_t ts, const TraceConfig& config) {
  if (config_ && !config.same_for(*config_, kKmemEvents))
    for (uint64_t& until : frees_lost_until_) until = std::max(until, ts);
  config_ = config;
}

// Events lost on a CPU were lost before its next record.
void KmemAnalysis::end_loss(uint32_t cpu, uint64_t ts) {
  const auto losing = losing_.find(cpu);
  if (losing == losing_.end()) return;
  for (size_t i = 0; i < frees_lost_until_.size(); ++i)
    if (losing->second[i]) frees_lost_until_[i] = std::max(frees_lost_until_[i], ts);
  losing_.erase(losing);
}

void KmemAnalysis::finish(uint64_t end_ns, uint64_t sure_since_ns) {
  while (!losing_.empty()) end_loss(losing_.begin()->first, UINT64_MAX);
  for (const auto& [ptr, held] : held_) {
    if (!held.selected) continue;
    const uint64_t age = end_ns - std::min(end_ns, held.ts);
    const bool uncertain = held.ts < sure_since_ns || held.ts <= frees_lost_until_[kind(held.type)];
    change(held, [&](KmemUse& use) {
      ++use.held;
      use.held_bytes += held.bytes_alloc;
      use.oldest_ns = std::max(use.oldest_ns, age);
      use.uncertain += uncertain ? 1 : 0;
      use.uncertain_bytes += uncertain ? held.bytes_alloc : 0;
    });
    give_end(held, {.ptr = ptr, .how = AllocationEnd::held, .ts = end_ns, .uncertain = uncertain});
    size_t bin = 0;
    for (uint64_t limit = 1000; bin + 1 < kAges && age >= limit; limit *= 10) ++bin;
    ++ages_[bin];
  }
  held_.clear();
}

}  // namespace ktraced
