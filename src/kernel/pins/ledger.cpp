// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/pins/ledger.h"

#include <bpf/bpf.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "kernel/pins/map_layout.h"

namespace ktraced {
namespace {

constexpr const char* kName = "ledger";
constexpr uint64_t kMagic = 0x325247444c544b;  // "KTLDGR2": changes with the layout

}  // namespace

Ledger Ledger::open(const Pins* pins, uint32_t cpus, uint32_t banks) {
  Ledger ledger(cpus, banks);
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t used = sizeof(Fixed) + banks * sizeof(BankEntry) + cpus * sizeof(StreamCpuEntry);
  const size_t bytes = (used + page - 1) / page * page;
  if (auto mapped = ledger.map(pins, bytes); !mapped) {
    spdlog::warn(
        "the next daemon will know neither what was traced, nor what was missed and lost: {}",
        mapped.error().message);
    ledger.own_.resize(bytes / sizeof(uint64_t));
  }
  Fixed& fixed = ledger.fixed();
  ledger.adopted_ = ledger.adopted_ && fixed.magic == kMagic;
  if (!ledger.adopted_ && ledger.memory_) std::memset(ledger.memory_.data(), 0, bytes);
  fixed.magic = kMagic;
  return ledger;
}

// No program uses the map. Another one is pinned in the place of what does not look like it.
Result<> Ledger::map(const Pins* pins, size_t bytes) {
  Fd map = pins != nullptr ? pins->get(Pins::Kind::map, kName) : Fd();
  const bool adopted =
      map && layout_of(map.get()) == MapLayout{.type = BPF_MAP_TYPE_ARRAY,
                                               .key_size = sizeof(uint32_t),
                                               .value_size = static_cast<uint32_t>(bytes),
                                               .entries = 1,
                                               .mappable = true};
  if (!adopted) {
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
    map = Fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, kName, sizeof(uint32_t),
                            static_cast<uint32_t>(bytes), 1, &options));
    if (!map) return fail(ExitCode::os, "cannot make the map {}: {}", kName, errno_text(errno));
    if (pins != nullptr)
      if (auto pinned = pins->pin(Pins::Kind::map, kName, map.get()); !pinned) return pinned;
  }
  auto mapping = Mapping::map(map.get(), bytes, PROT_READ | PROT_WRITE);
  if (!mapping) return propagate(mapping);
  memory_ = std::move(*mapping);
  adopted_ = adopted;
  return {};
}

}  // namespace ktraced
