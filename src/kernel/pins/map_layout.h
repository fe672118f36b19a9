// SPDX-License-Identifier: BSD-2-Clause
// What a pinned map looks like, to recognise another one in its place.
#pragma once

#include <cstdint>

namespace ktraced {

// A map as the kernel reports it.
struct MapLayout {
  uint32_t type = 0;  // of bpf_map_type
  uint32_t key_size = 0;
  uint32_t value_size = 0;  // in bytes, as key_size
  uint32_t entries = 0;     // of a ring buffer: bytes
  bool mappable = false;

  bool operator==(const MapLayout&) const = default;
};

// The layout of the map with this descriptor; all zero if the kernel does not report one.
[[nodiscard]] MapLayout layout_of(int map);

}  // namespace ktraced
