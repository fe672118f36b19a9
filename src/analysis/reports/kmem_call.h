// SPDX-License-Identifier: BSD-2-Clause
// Allocations and frees, from all of the kernel's memory events.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/coverage/event_table.h"
#include "schema/schema.h"
#include "trace/packet/packet.h"

namespace ktraced {

inline constexpr uint64_t kPageBytes = 4096;

// The allocator; numbers as in kmemtrace.
enum class KmemType : uint8_t { kmalloc = 0, cache = 1, pages = 2 };

// An allocation or a free. Values that the event does not have are 0; the nodes are -1.
struct KmemCall {
  KmemType type = KmemType::kmalloc;
  bool is_alloc = false;
  uint64_t call_site = 0;  // not available for pages
  uint64_t ptr = 0;        // for pages their struct page; 0: the allocation failed
  uint64_t cache = 0;      // key of its name
  uint64_t bytes_req = 0;
  uint64_t bytes_alloc = 0;
  uint32_t gfp_flags = 0;
  int32_t node = -1;       // NUMA node requested; -1: any
  int32_t page_node = -1;  // NUMA node of the memory; -1: unknown
  uint32_t order = 0;      // of pages: there are 2^order
};

// Reads the memory events of a trace by its schema: kmalloc, kfree, kmem_cache_alloc,
// kmem_cache_free, mm_page_alloc and mm_page_free. `schema` must outlive this.
class KmemReader {
 public:
  explicit KmemReader(const Schema& schema);
  // Nothing for any other event.
  [[nodiscard]] std::optional<KmemCall> read(RecordView record) const;
  // The part that is the same in all records of the event with this id; nothing for other events.
  [[nodiscard]] std::optional<KmemCall> call_of(uint32_t id) const;
  [[nodiscard]] bool is_kmem(uint32_t id) const { return call_of(id).has_value(); }

 private:
  struct Plan {
    bool known = false;
    KmemCall call;  // what is the same in all records
    std::optional<Field> call_site, ptr, cache, bytes_req, bytes_alloc, gfp_flags, node, page_node,
        order;
  };
  static Plan plan_of(const Event& event);

  EventTable<Plan> plans_;
};

}  // namespace ktraced
