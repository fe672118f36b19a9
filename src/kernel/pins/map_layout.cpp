// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/pins/map_layout.h"

#include <bpf/bpf.h>

namespace ktraced {

MapLayout layout_of(int map) {
  bpf_map_info info{};
  uint32_t length = sizeof(info);
  if (bpf_obj_get_info_by_fd(map, &info, &length) != 0) return {};
  return {.type = info.type,
          .key_size = info.key_size,
          .value_size = info.value_size,
          .entries = info.max_entries,
          .mappable = (info.map_flags & BPF_F_MMAPABLE) != 0};
}

}  // namespace ktraced
