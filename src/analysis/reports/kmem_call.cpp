// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/reports/kmem_call.h"

#include <algorithm>
#include <string_view>

#include "analysis/coverage/event_fields.h"

namespace ktraced {
namespace {

struct KmemKind {
  std::string_view event;
  KmemType type;
  bool is_alloc;
};

constexpr KmemKind kKmemKinds[] = {
    {"kmalloc", KmemType::kmalloc, true},        {"kfree", KmemType::kmalloc, false},
    {"kmem_cache_alloc", KmemType::cache, true}, {"kmem_cache_free", KmemType::cache, false},
    {"mm_page_alloc", KmemType::pages, true},    {"mm_page_free", KmemType::pages, false},
};

constexpr uint32_t kMaxOrder = 40;  // larger orders are invalid

int32_t node_in(const std::optional<Field>& field, RecordView record) {
  return field ? static_cast<int32_t>(integer_of(*field, record).value_or(-1)) : -1;
}

}  // namespace

KmemReader::KmemReader(const Schema& schema)
    : plans_(schema, [](const Event& event) { return plan_of(event); }) {}

KmemReader::Plan KmemReader::plan_of(const Event& event) {
  const auto* kind = std::ranges::find(kKmemKinds, event.name, &KmemKind::event);
  if (kind == std::ranges::end(kKmemKinds)) return {};
  Plan plan{.known = true, .call = {.type = kind->type, .is_alloc = kind->is_alloc}};
  const bool pages = kind->type == KmemType::pages;
  plan.call_site = field_named(event, "call_site");
  plan.ptr = field_named(event, pages ? "page" : "ptr");
  plan.cache = field_named(event, "name");
  plan.bytes_req = field_named(event, "bytes_req");
  plan.bytes_alloc = field_named(event, "bytes_alloc");
  plan.gfp_flags = field_named(event, "gfp_flags");
  plan.node = field_named(event, "node");
  plan.page_node = field_named(event, "page_node");
  plan.order = field_named(event, "order");
  return plan;
}

std::optional<KmemCall> KmemReader::read(RecordView record) const {
  const Plan* plan = plans_.find(record.id());
  if (plan == nullptr || !plan->known) return std::nullopt;
  KmemCall call = plan->call;
  call.call_site = value_or_zero(plan->call_site, record);
  call.ptr = value_or_zero(plan->ptr, record);
  call.cache = value_or_zero(plan->cache, record);
  call.bytes_req = value_or_zero(plan->bytes_req, record);
  call.bytes_alloc = value_or_zero(plan->bytes_alloc, record);
  call.gfp_flags = static_cast<uint32_t>(value_or_zero(plan->gfp_flags, record));
  call.node = node_in(plan->node, record);
  call.page_node = node_in(plan->page_node, record);
  if (call.type == KmemType::pages) {
    call.order =
        static_cast<uint32_t>(std::min<uint64_t>(value_or_zero(plan->order, record), kMaxOrder));
    call.bytes_req = call.bytes_alloc = kPageBytes << call.order;
  }
  return call;
}

std::optional<KmemCall> KmemReader::call_of(uint32_t id) const {
  const Plan* plan = plans_.find(id);
  if (plan == nullptr || !plan->known) return std::nullopt;
  return plan->call;
}

}  // namespace ktraced
