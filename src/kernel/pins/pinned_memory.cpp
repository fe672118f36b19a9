// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/pins/pinned_memory.h"

#include <bpf/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/fd.h"
#include "kernel/pins/map_layout.h"

namespace ktraced {

Result<PinnedMemory> PinnedMemory::open(const Pins* pins, const std::string& name, size_t bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  bytes = (bytes + page - 1) / page * page;
  Fd map = pins != nullptr ? pins->get(Pins::Kind::map, name) : Fd();
  const bool adopted =
      map && layout_of(map.get()) == MapLayout{.type = BPF_MAP_TYPE_ARRAY,
                                               .key_size = sizeof(uint32_t),
                                               .value_size = static_cast<uint32_t>(bytes),
                                               .entries = 1,
                                               .mappable = true};
  if (!adopted) {  // other memory is pinned in the place of what does not look like it
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
    map = Fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, name.c_str(), sizeof(uint32_t),
                            static_cast<uint32_t>(bytes), 1, &options));
    if (!map) return fail(ExitCode::os, "cannot make the map {}: {}", name, errno_text(errno));
    if (pins != nullptr)
      if (auto pinned = pins->pin(Pins::Kind::map, name, map.get()); !pinned)
        return propagate(pinned);
  }
  auto mapping = Mapping::map(map.get(), bytes, PROT_READ | PROT_WRITE);
  if (!mapping) return propagate(mapping);
  return PinnedMemory{.mapping = std::move(*mapping), .adopted = adopted};
}

}  // namespace ktraced
