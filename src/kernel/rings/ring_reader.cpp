// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/rings/ring_reader.h"

#include <sys/mman.h>
#include <unistd.h>

namespace ktraced {

Result<RingReader> RingReader::open(Fd map, size_t size) {
  RingReader ring(std::move(map), size, static_cast<size_t>(::sysconf(_SC_PAGESIZE)));
  auto consumer = Mapping::map(ring.map_.get(), ring.page_, PROT_READ | PROT_WRITE);
  if (!consumer) return propagate(consumer);
  auto producer = Mapping::map(ring.map_.get(), ring.page_ + 2 * size, PROT_READ, ring.page_);
  if (!producer) return propagate(producer);
  ring.consumer_ = std::move(*consumer);
  ring.producer_ = std::move(*producer);
  return ring;
}

}  // namespace ktraced
