#include "decoders/kmem_call.h"

#include <algorithm>
#include <string_view>

#include "trace/field_value.h"

namespace ktraced {
namespace {

struct Kind {
  std::string_view event;
  KmemType type;
  bool is_alloc;
};

constexpr Kind kKinds[] = {
    {"kmalloc", KmemType::kmalloc, true},        {"kfree", KmemType::kmalloc, false},
    {"kmem_cache_alloc", KmemType::cache, true}, {"kmem_cache_free", KmemType::cache, false},
    {"mm_page_alloc", KmemType::pages, true},    {"mm_page_free", KmemType::pages, false},
};

constexpr uint32_t kMaxOrder = 40;  // beyond, the record is no true one

std::optional<Field> field_of(const Event& event, std::string_view name) {
  auto field = std::ranges::find(event.fields, name, &Field::name);
  if (field == event.fields.end() || !is_scalar(*field)) return std::nullopt;
  return *field;
}

uint64_t value_of(const std::optional<Field>& field, RecordView record) {
  return field ? integer_of(*field, record).value_or(0) : 0;
}

}  // namespace

KmemReader::KmemReader(const Schema& schema)
    : plans_(schema, [](const Event& event) { return plan_of(event); }) {}

KmemReader::Plan KmemReader::plan_of(const Event& event) {
  const auto* kind = std::ranges::find(kKinds, event.name, &Kind::event);
  if (kind == std::ranges::end(kKinds)) return {};
  Plan plan{.known = true, .call = {.type = kind->type, .is_alloc = kind->is_alloc}};
  const bool pages = kind->type == KmemType::pages;
  plan.call_site = field_of(event, "call_site");
  plan.ptr = field_of(event, pages ? "page" : "ptr");
  plan.cache = field_of(event, "name");
  plan.bytes_req = field_of(event, "bytes_req");
  plan.bytes_alloc = field_of(event, "bytes_alloc");
  plan.gfp_flags = field_of(event, "gfp_flags");
  plan.node = field_of(event, "node");
  plan.order = field_of(event, "order");
  return plan;
}

std::optional<KmemCall> KmemReader::read(RecordView record) const {
  const Plan* plan = plans_.find(record.id());
  if (plan == nullptr || !plan->known) return std::nullopt;
  KmemCall call = plan->call;
  call.call_site = value_of(plan->call_site, record);
  call.ptr = value_of(plan->ptr, record);
  call.cache = value_of(plan->cache, record);
  call.bytes_req = value_of(plan->bytes_req, record);
  call.bytes_alloc = value_of(plan->bytes_alloc, record);
  call.gfp_flags = static_cast<uint32_t>(value_of(plan->gfp_flags, record));
  if (plan->node) call.node = static_cast<int32_t>(integer_of(*plan->node, record).value_or(-1));
  if (call.type == KmemType::pages) {
    call.order =
        static_cast<uint32_t>(std::min<uint64_t>(value_of(plan->order, record), kMaxOrder));
    call.bytes_req = call.bytes_alloc = kPageBytes << call.order;
  }
  return call;
}

std::optional<KmemCall> KmemReader::call_of(uint32_t id) const {
  const Plan* plan = id <= UINT16_MAX ? plans_.find(static_cast<uint16_t>(id)) : nullptr;
  if (plan == nullptr || !plan->known) return std::nullopt;
  return plan->call;
}

}  // namespace ktraced
