// SPDX-License-Identifier: BSD-2-Clause
// Reading whole BPF hash maps.
#pragma once

#include <bpf/bpf.h>

#include <cerrno>
#include <cstdint>
#include <vector>

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

}  // namespace ktraced
