// SPDX-License-Identifier: BSD-2-Clause
// Reading whole BPF maps: hash maps, and histories that overwrite their oldest entries.
#pragma once

#include <bpf/bpf.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "bpf/types.h"

namespace ktraced {

// Calls visit(key, value) for the elements of a hash map of user-visible size, in batches: one
// system call for many elements, and no endless walk when elements are added and removed
// concurrently. An element that changes during the walk may be visited or not.
template <class Key, class Value, class Visit>
void for_each_element(int map, Visit&& visit) {
  constexpr uint32_t kBatch = 4096;
  std::vector<Key> keys(kBatch);
  std::vector<Value> values(kBatch);
  uint32_t position = 0;
  LIBBPF_OPTS(bpf_map_batch_opts, options);
  for (bool first = true;; first = false) {
    uint32_t count = kBatch;
    const int error = bpf_map_lookup_batch(map, first ? nullptr : &position, &position, keys.data(),
                                           values.data(), &count, &options);
    if (error != 0 && error != -ENOENT) return;  // -ENOENT: these were the last
    for (uint32_t i = 0; i < count; ++i) visit(keys[i], values[i]);
    if (error != 0) return;
  }
}

// Calls visit(entry) for the entries that a history has, the oldest first: `Entry` has the member
// `number`, as struct name_change. `end`: how many entries were written so far. Those that a
// program is writing, or has overwritten, are left out.
template <class Entry, class Visit>
void for_each_kept(std::span<const Entry> history, uint64_t end, Visit&& visit) {
  for (uint64_t i = end - std::min<uint64_t>(end, history.size()); i < end; ++i) {
    const Entry& from = history[i % history.size()];
    const std::atomic_ref written(const_cast<u64&>(from.number));
    if (written.load(std::memory_order_acquire) != i + 1) continue;
    Entry entry;
    std::memcpy(&entry, &from, sizeof(entry));
    std::atomic_thread_fence(std::memory_order_acquire);
    if (written.load(std::memory_order_relaxed) == i + 1) visit(entry);
  }
}

}  // namespace ktraced
